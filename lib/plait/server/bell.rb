# frozen_string_literal: true

require "io/wait"
require_relative "../values/deadline"

module Plait
  class Server
    # Tells a server to end: from any thread, fiber or signal handler, before it has begun too.
    class Bell
      # @return [Deadline, nil] by which it must have ended
      attr_reader :deadline

      # @param deadline [Deadline]
      # @return [void]
      def ring(deadline)
        @deadline ||= deadline
        @pipe&.last&.write_nonblock(".", exception: false)
      rescue IOError, SystemCallError
        nil # it has ended
      end

      # @return [Boolean]
      def rung? = !@deadline.nil?

      # Until it rings; meanwhile the block is called.
      # @param every [Numeric] seconds between two calls
      # @return [void]
      def wait(every)
        @pipe = IO.pipe
        yield until rung? || (@pipe.first.wait_readable(every) && rung?)
      ensure
        @pipe&.reverse_each(&:close)
        @pipe = nil
      end
    end
  end
end
