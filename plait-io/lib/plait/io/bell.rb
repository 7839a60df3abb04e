# frozen_string_literal: true

require "io/wait"
require "plait/values/deadline"

module Plait
  module Io
    # A stop signal for a server, from any thread, fiber or signal handler, also before the server runs.
    class Bell
      # @return [Deadline, nil] by which it must have ended
      attr_reader :deadline

      # Rung again, it does not give more time.
      # @param deadline [Deadline]
      # @return [void]
      def ring(deadline)
        @deadline = deadline if @deadline.nil? || deadline.at < @deadline.at
        @pipe&.last&.write_nonblock(".", exception: false)
      rescue IOError, SystemCallError
        nil # it has ended
      end

      # @return [Boolean]
      def rung? = !@deadline.nil?

      # Waits until it rings.
      # @param seconds [Numeric, nil] at most
      # @return [void]
      def wait(seconds = nil)
        @pipe ||= IO.pipe
        @pipe.first.wait_readable(*seconds) unless rung?
      end

      # Waits until it rings, calls the block meanwhile, and closes the bell.
      # @param seconds [Numeric] between two calls
      # @yield
      # @return [void]
      def meanwhile(seconds)
        until rung?
          wait(seconds)
          yield unless rung?
        end
      ensure
        close
      end

      # Nobody waits for it any more.
      # @return [void]
      def close
        pipe, @pipe = @pipe, nil
        pipe&.reverse_each(&:close)
      end
    end
  end
end
