# frozen_string_literal: true

require_relative "access_log"
require_relative "../values/errors"

module Plait
  class Server
    # The files in which a server writes down what happens. Who rotates them renames them, and has them opened anew.
    class Logs
      # @param configuration [Configuration]
      # @raise [UsageError] for one that can't be opened
      def initialize(configuration)
        @access = AccessLog.new(configuration.access_log, configuration.log_format || :common) if configuration.access_log
        @redirections = { $stdout => configuration.stdout, $stderr => configuration.stderr }.compact
        reopen if @redirections.any?
      rescue SystemCallError => e
        raise UsageError, "a log can't be opened: #{e.message[/\A.+?(?= @ rb_sysopen)/]}: #{@redirections.values.join(", ")}"
      end

      # @return [Boolean] whether there are any
      def any? = @redirections.any? || !@access.nil?

      # @return [AccessLog, nil]
      attr_reader :access

      # Writes what is left.
      # @return [void]
      def close = @access&.close

      # @return [void]
      # @raise [SystemCallError]
      def reopen
        @redirections.each do |stream, path|
          stream.reopen(path, "a")
          stream.sync = true
        end
        @access&.reopen
      end
    end
  end
end
