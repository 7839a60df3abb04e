# frozen_string_literal: true

require_relative "base"

module Plait
  # Keeps Thread#raise away from a thread of a server, unless a request runs there: an exception in the server's own code would
  # end all its requests.
  module ThreadGuard
    TEXT = "%<error>s, which another thread raised into the thread %<thread>p of the server, is dropped: %<reason>s"
    RAISE = Thread.instance_method(:raise)
    MASKED = { Mechanisms::Interruption => :immediate, Exception => :never }.freeze
    LOWERED = { Exception => :immediate }.freeze
    RAISED = { Exception => :never }.freeze

    class << self
      # @param guard [#call] called with the thread and the exception; it raises the exception there, or drops it
      def over(thread, guard)
        thread.extend(self)
        thread.instance_variable_set(:@plait_guards, [*guards(thread), guard])
      end

      def end_over(thread, guard) = thread.instance_variable_set(:@plait_guards, guards(thread) - [guard])

      def guards(thread) = thread.instance_variable_get(:@plait_guards)

      # Holds exceptions of other threads back from the block, except in {lowered}.
      # @return [Object] the block's value
      def mask(&block)
        Thread.current.instance_variable_set(:@plait_masked, true)
        Thread.handle_interrupt(MASKED, &block)
      end

      # @return [Object] the block's value
      def lowered(&block)
        masked = Thread.current.instance_variable_get(:@plait_masked)
        masked ? Thread.handle_interrupt(LOWERED, &block) : yield
      end

      # Holds exceptions back again inside {lowered}, where the server's own state changes.
      # @return [Object] the block's value
      def held(&block)
        masked = Thread.current.instance_variable_get(:@plait_masked)
        masked ? Thread.handle_interrupt(RAISED, &block) : yield
      end

      # Raises the exception in the thread, past the guard.
      def raise_into(thread, exception) = RAISE.bind_call(thread, exception)

      # @return [String] for the log
      def dropped(thread, exception, reason)
        name = thread.name || (thread == Thread.main ? "main" : thread)
        format(TEXT, error: exception.class, thread: name, reason: reason)
      end

      # @api private
      # @return [Boolean] also for an object that is no exception, which Ruby refuses
      def ours?(error)
        kind = error.is_a?(Class) ? error : error.class
        kind <= Mechanisms::Interruption || !(error.respond_to?(:exception) || error.is_a?(String))
      end
    end

    # As Thread#raise.
    def raise(error = RuntimeError.new("unhandled exception"), *rest)
      guard = @plait_guards&.last
      return super if guard.nil? || equal?(Thread.current) || ThreadGuard.ours?(error)

      error = RuntimeError.new(error) if error.is_a?(String)
      exception = error.exception(*rest.first(1))
      exception.set_backtrace(rest[1]) if rest[1]
      guard.call(self, exception)
      nil
    end
  end
  private_constant :ThreadGuard
end
