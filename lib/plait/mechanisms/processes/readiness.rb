# frozen_string_literal: true

require_relative "../mechanism"

module Plait
  module Mechanisms
    class Processes < Mechanism
      # IO.select that holds up only the current fiber.
      module Readiness
        # @param reads [Array<IO>]
        # @param writes [Array<IO>]
        # @param timeout [Numeric] seconds
        # @return [Array<Array<IO>>, nil] as IO.select
        def self.wait(reads, writes, timeout)
          scheduler = Fiber.current_scheduler
          return IO.select(reads, writes, nil, timeout) if scheduler.nil? || timeout.zero?
          return scheduler.io_select(reads, writes, nil, timeout) if scheduler.respond_to?(:io_select)

          on_a_thread(reads, writes, timeout)
        end

        # Ruby hooks IO.select from 3.2 on, and Async 2.24 has no io_select for it.
        def self.on_a_thread(reads, writes, timeout)
          thread = Thread.new { IO.select(reads, writes, nil, timeout) }
          thread.report_on_exception = false
          thread.value
        ensure
          thread.kill
        end
        private_class_method :on_a_thread
      end
    end
  end
end
