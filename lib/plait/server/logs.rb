# frozen_string_literal: true

require_relative "../values/errors"

module Plait
  class Server
    # The files in which a server writes down what happens. Who rotates them renames them, and has them opened anew.
    class Logs
      # @param configuration [Configuration]
      # @raise [UsageError] for one that can't be opened
      def initialize(configuration)
        @redirections = { $stdout => configuration.stdout, $stderr => configuration.stderr }.compact
        reopen
      rescue SystemCallError => e
        raise UsageError, "a log can't be opened: #{e.message[/\A.+?(?= @ rb_sysopen)/]}: #{@redirections.values.join(", ")}"
      end

      # @return [Boolean] whether there are any
      def any? = @redirections.any?

      # @return [void]
      # @raise [SystemCallError]
      def reopen
        @redirections.each do |stream, path|
          stream.reopen(path, "a")
          stream.sync = true
        end
      end
    end
  end
end
