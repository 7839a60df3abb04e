# frozen_string_literal: true

require_relative "access_log"

module Plait
  class Server
    # The log files of a server. A program that rotates them renames them, and has the server open them again.
    class Logs
      # @param folder [String] of the server, by the name behind which a deployment may put another one; an app may go elsewhere
      # @raise [UsageError] for one that can't be opened
      def initialize(configuration, folder = Dir.pwd)
        check(configuration)
        @access = access_log(configuration, folder) if configuration.access_log
        paths = { $stdout => configuration.stdout, $stderr => configuration.stderr }.compact
        @redirections = paths.transform_values { |path| File.expand_path(path, folder) }
        @before = paths.to_h { |stream, _| [stream, stream.dup] }
        paths.each_key { |stream| unbuffer(stream) }
        redirect { |path, reason| raise UsageError, "the log #{path} can't be opened: #{reason}" }
      end

      # @return [Boolean] whether there are any
      def any? = @redirections.any? || !@access.nil?

      # @return [AccessLog, nil]
      attr_reader :access

      # The server serves: it closes the streams it was started with, so that a program which reads them to their end goes on.
      def settle
        @before.each_value(&:close)
        @before.clear
      end

      # Until then output goes to the terminal, where the operator sees why there is no server.
      def give_back
        @before.each { |stream, before| turn(stream, before) }
        settle
      end

      # Writes what is left.
      def close = @access&.close

      # A log that can't be opened again goes on in the old file, with a line that says so.
      def reopen
        redirect { |path, reason| complain(path, reason) }
        @access&.reopen { |path, reason| complain(path, reason) }
      end

      private

      def access_log(configuration, folder)
        path = configuration.access_log
        path = File.expand_path(path, folder) unless path == AccessLog::STANDARD
        AccessLog.new(path, configuration.log_format || :common)
      end

      def redirect
        @redirections.each do |stream, path|
          File.open(path, "a") { |file| turn(stream, file) }
        rescue SystemCallError => e
          yield path, SystemReason.of(e)
        end
      end

      # What was printed until now belongs to where it went until now.
      def unbuffer(stream)
        stream.sync = true
        stream.flush
      end

      # IO#reopen would raise in a thread that prints just now, and buffer what is printed in that moment: that and all that
      # comes after it would be in no file until there are 8 KB. By the path it would have closed the stream, too, when it
      # can't open it (freopen(3)), and the next connection would get its number, and the output.
      def turn(stream, file) = NativeServer.redirect(stream.fileno, file.fileno)

      def complain(path, reason) = warn("plait: the log #{path} can't be opened again: #{reason}; it goes on as it was")

      def check(configuration)
        return if configuration.access_log || configuration.log_format.nil?

        raise UsageError, "the format #{configuration.log_format} is that of no log: say --access-log FILE, too"
      end
    end
  end
end
