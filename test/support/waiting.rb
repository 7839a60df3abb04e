# frozen_string_literal: true

module Support
  # Waits for a condition instead of sleeping and hoping.
  module Waiting
    FIRST_PAUSE = 0.001
    LONGEST_PAUSE = 0.05

    module_function

    # @param timeout [Numeric] seconds; generous, because it only costs time when the test fails anyway, and below the minute
    #   after which much comes true by itself: connections are idle, calls are given up
    # @param what [String, #call] what is waited for, for the message
    # @return [Object] what the block returned, truthy
    def wait_until(timeout: 40, what: "the condition")
      give_up = Process.clock_gettime(Process::CLOCK_MONOTONIC) + timeout
      pause = FIRST_PAUSE
      loop do
        result = yield
        return result if result

        if Process.clock_gettime(Process::CLOCK_MONOTONIC) > give_up
          raise Minitest::Assertion, "#{what.respond_to?(:call) ? what.call : what} did not come true in #{timeout} s"
        end

        sleep(pause)
        pause = [pause * 2, LONGEST_PAUSE].min
      end
    end

    # Tries again with more time, for what must happen within a time: a busy machine exceeds every short one.
    # @param times [Array<Numeric>] seconds that grow
    # @yieldparam seconds [Numeric]
    # @return [Object] what the block returned
    # @raise [Minitest::Assertion, Plait::TimeoutError] of the longest time
    def in_growing_times(*times)
      yield(times.first)
    rescue Minitest::Assertion, Plait::TimeoutError => e
      raise if e.is_a?(Minitest::Skip) || times.one?

      times.shift
      retry
    end
  end
end
