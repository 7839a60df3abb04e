# frozen_string_literal: true

require "plait/native"
require "plait/values/errors"
require "plait/values/uninterruptible"

module Plait
  module DB
    # A call that its caller may leave at any moment: connecting, and telling a server that an answer is no longer needed. It
    # runs on a thread of its own, goes on when its caller leaves, and throws away what it gets then. On the offload pool
    # some such calls would keep all others waiting for seconds.
    class DetachedCall
      # Threads at once; raising it lets more callers connect together. A later call waits for one of them to end, as fibers can.
      MOST = 64
      private_constant :MOST

      # Counts the threads, and keeps the calls that wait for one, in the order of asking.
      class Line
        def initialize
          @lock = Mutex.new
          @waiting = []
          @threads = 0
        end

        # @param call [DetachedCall]
        def enter(call)
          @lock.synchronize do
            @waiting << call
            serve
          end
        end

        # @return [Integer] threads, and calls that wait for one
        def count = @lock.synchronize { @threads + @waiting.size }

        private

        def serve
          start(@waiting.shift) while @waiting.any? && @threads < MOST
        end

        # The thread inherits the mask, without which it could end before its caller hears of it.
        def start(call)
          Thread.new { work(call) }.report_on_exception = false
          @threads += 1
        rescue ThreadError => e
          call.give_up(e)
        end

        def work(call)
          call.run
        ensure
          @lock.synchronize do
            @threads -= 1
            serve
          end
        end
      end
      private_constant :Line

      @lock = Mutex.new

      class << self
        # @param discard [#call] is given what came too late
        # @return [Object] see {#value}
        def call(discard:, &block) = new(discard: discard, &block).value

        # @return [Line] the threads of a parent are not here
        # @api private
        def line
          @lock.synchronize do
            @line = Line.new if @generation != Native.fork_generation
            @generation = Native.fork_generation
            @line
          end
        end
      end

      # @param discard [#call, nil] is given what came too late
      # @param refused [#call, nil] is called instead of the block when the system gives no thread
      def initialize(discard: nil, refused: nil, &block)
        @block = block
        @discard = discard
        @refused = refused
        @lock = Mutex.new
        @done = Thread::Queue.new
      end

      # Does not wait for the block.
      # @return [self]
      def start
        Uninterruptible.run { self.class.line.enter(self) }
        self
      end

      # @param take [#call] is given what the block returns, and then no interrupt can part it from its caller
      # @return [Object] what the block returns
      # @raise [WorkerDied] when the block has ended its thread
      # @raise [ThreadError] when the system gives none
      def value(take: :itself.to_proc)
        start
        wait
        raise @error if @error

        Uninterruptible.run do
          take.call(@value)
          @taken = true
          @value
        end
      ensure
        Uninterruptible.run { leave }
      end

      # @return [void]
      def wait = @done.pop

      # @yield when the block is over, on its thread
      # @return [Boolean] whether it is not over yet; else the block given here is never called
      def on_end(&ending) = @lock.synchronize { !@over && (@ending = ending) && true }

      # On its thread, where nothing can come but to the block.
      def run
        @error = WorkerDied.new("the thread of this call was killed before it had ended")
        keep(Thread.handle_interrupt(Object => :immediate) { @block.call }) unless @lock.synchronize { @left }
        @error = nil
      rescue Exception => e # rubocop:disable Lint/RescueException -- it belongs to the caller
        @error = e
      ensure
        finish
      end

      # Instead of {run}.
      def give_up(error)
        @error = error
        @refused&.call
        finish
      end

      private

      def keep(value) = @lock.synchronize { @left ? @discard.call(value) : @value = value }

      # Its caller waits no longer.
      def leave
        @lock.synchronize do
          @discard.call(@value) if @value && !@taken
          @left = true
        end
      end

      def finish
        ending = @lock.synchronize do
          @over = true
          @ending
        end
        ending&.call
        @done.close
      end
    end
    private_constant :DetachedCall
  end
end
