# frozen_string_literal: true

module Plait
  # Blocks that run to their end: no other thread raises into them, and no kill ends them.
  module Uninterruptible
    # A constant: a literal makes a Hash at each call, and Ruby looks for interrupts there.
    NEVER = { Object => :never }.freeze

    # @return [Object] the block's value
    def self.run(&block) = Thread.handle_interrupt(NEVER, &block)

    # With a lock that is held for microseconds. A fiber does not sleep for it, where Fiber#raise would reach it.
    # @return [Object] the block's value
    def self.holding(lock, &block)
      run do
        next lock.synchronize(&block) if !Fiber.respond_to?(:current_scheduler) || Fiber.current_scheduler.nil? || lock.owned?

        Thread.pass until lock.try_lock
        begin
          yield
        ensure
          lock.unlock
        end
      end
    end
  end
  private_constant :Uninterruptible
end
