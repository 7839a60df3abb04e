# frozen_string_literal: true

require "io/wait"

module Plait
  module Suites
    class Origin
      # A thread per connection, for Rubies on which io-event does not load (JRuby): the same interface as FiberLoop.
      class ThreadLoop
        # Runs until the process ends.
        def run = Kernel.sleep

        # Runs the block in a thread of its own.
        def spawn(&block) = Thread.new(&block)

        # Waits until the descriptor can be read.
        def wait_readable(io) = io.wait_readable

        # Waits until the descriptor can be written.
        def wait_writable(io) = io.wait_writable

        # @return [String] a buffer to read into
        def scratch = String.new

        # @param seconds [Float]
        def sleep(seconds) = Kernel.sleep(seconds)
      end
    end
  end
end
