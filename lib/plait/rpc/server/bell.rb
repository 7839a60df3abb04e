# frozen_string_literal: true

require "io/wait"
require_relative "../../values/deadline"

module Plait
  module RPC
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

        # @return [void]
        def wait
          @pipe = IO.pipe
          @pipe.first.wait_readable until rung?
        ensure
          @pipe&.reverse_each(&:close)
          @pipe = nil
        end
      end
    end
  end
end
