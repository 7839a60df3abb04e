# frozen_string_literal: true

require_relative "access_log"
require_relative "../values/errors"
require_relative "../values/system_reason"

module Plait
  class Server
    # The files in which a server writes down what happens. Who rotates them renames them, and has them opened anew.
    class Logs
      # @param configuration [Configuration]
      # @raise [UsageError] for one that can't be opened
      def initialize(configuration)
        check(configuration)
        @access = AccessLog.new(configuration.access_log, configuration.log_format || :common) if configuration.access_log
        @redirections = { $stdout => configuration.stdout, $stderr => configuration.stderr }.compact
        reopen if @redirections.any?
      rescue SystemCallError => e
        raise UsageError, "a log can't be opened: #{SystemReason.of(e)}: #{@redirections.values.join(", ")}"
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

      private

      def check(configuration)
        return if configuration.access_log || configuration.log_format.nil?

        raise UsageError, "the format #{configuration.log_format} is that of no log: say --access-log FILE, too"
      end
    end
  end
end
