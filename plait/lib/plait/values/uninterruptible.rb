# frozen_string_literal: true

module Plait
  # Blocks that run to their end: no other thread raises into them, and no kill ends them.
  module Uninterruptible
    # A constant: a literal makes a Hash at each call, and Ruby looks for interrupts there.
    NEVER = { Object => :never }.freeze

    # @return [Object] the block's value
    def self.run(&block) = Thread.handle_interrupt(NEVER, &block)

    # @return [Object] the block's value, which holds the lock for microseconds
    def self.holding(lock, &block) = run { exclusively(lock, &block) }

    # As {holding}, for a caller that holds interrupts back already.
    def self.exclusively(lock)
      acquire(lock)
      begin
        yield
      ensure
        lock.unlock
      end
    end

    # A fiber does not sleep here, where Fiber#raise would reach it; before Ruby 3.3 Mutex#unlock can also be overtaken inside
    # the scheduler's hook. A signal handler that interrupts the holder meets an error.
    # @param owned [Boolean] whether this fiber is the holder
    def self.acquire(lock, owned = lock.owned?)
      return lock.lock if owned || !Fiber.respond_to?(:current_scheduler) || Fiber.current_scheduler.nil?

      Thread.pass until lock.try_lock
    end
  end
  private_constant :Uninterruptible
end
