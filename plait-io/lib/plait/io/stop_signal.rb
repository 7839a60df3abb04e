# frozen_string_literal: true

module Plait
  module Io
    # Ends a server, from any thread, fiber or signal handler, also before the server runs.
    class StopSignal
      # @return [Deadline, nil] by which the server must have ended
      attr_reader :deadline

      # A second stop does not give more time.
      def stop(deadline)
        @deadline = deadline if @deadline.nil? || deadline.at < @deadline.at
        @pipe&.last&.write_nonblock(".", exception: false)
      rescue IOError, SystemCallError
        nil # the server has ended
      end

      def stopped? = !@deadline.nil?

      # Waits for {#stop}.
      # @param seconds [Numeric, nil] at most
      def wait(seconds = nil)
        @pipe ||= IO.pipe
        @pipe.first.wait_readable(*seconds) unless stopped?
      end

      # Waits for {#stop}, calls the block meanwhile, and closes the pipe.
      # @param seconds [Numeric] between two calls
      # @yield
      def meanwhile(seconds)
        until stopped?
          wait(seconds)
          yield unless stopped?
        end
      ensure
        close
      end

      def close
        pipe, @pipe = @pipe, nil
        pipe&.reverse_each(&:close)
      end
    end
  end
end
