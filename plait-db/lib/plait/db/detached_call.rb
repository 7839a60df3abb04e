# frozen_string_literal: true

module Plait
  module DB
    # A call that its caller may leave at any moment: connecting, or cancelling a statement. It runs on a thread of its own, goes
    # on when its caller leaves, and discards its result then. On the offload pool a few such calls would block others for
    # seconds.
    class DetachedCall
      # Threads at once; raising it lets more callers connect together. A later call waits for one of them to end, as fibers can.
      MOST = 64

      # Counts the threads, and queues calls that wait for one.
      class Threads
        def initialize
          @lock = Mutex.new
          @waiting = []
          @threads = 0
        end

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

        # The thread inherits the mask, without which a kill could end it before it sets a result.
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

      @lock = Mutex.new

      class << self
        # @param discard [#call] is given a late result
        # @return [Object] see {#value}
        def call(discard:, &block) = new(discard: discard, &block).value

        # @return [Threads] of this process: a fork has none of its parent's
        def threads
          @lock.synchronize do
            @threads = Threads.new if @generation != Native.fork_generation
            @generation = Native.fork_generation
            @threads
          end
        end
      end

      # @param discard [#call, nil] is given a late result
      # @param refused [#call, nil] called instead of the block when the system gives no thread
      def initialize(discard: nil, refused: nil, &block)
        @block = block
        @discard = discard
        @refused = refused
        @lock = Mutex.new
        @done = Thread::Queue.new
      end

      # Does not wait for the block.
      def start
        Uninterruptible.run { self.class.threads.enter(self) }
        self
      end

      # @return [Object] the block's value
      # @raise [WorkerDied] the block has ended its thread
      # @raise [ThreadError] the system gives no thread
      def value
        start
        take
      ensure
        Uninterruptible.run { leave }
      end

      # As {value}, of a call that was started: an interrupt leaves it to a later caller.
      # @yieldparam value [Object] before any interrupt can come
      # @return (see #value)
      def take
        wait
        raise @error if @error

        Uninterruptible.run do
          yield @value if block_given?
          @taken = true
          @value
        end
      end

      # No caller waits any longer, or will.
      def leave
        @lock.synchronize do
          @discard.call(@value) if @value && !@taken
          @left = true
        end
      end

      # @return [Boolean] whether the block is over, and has raised an error
      def failed? = @over && !@error.nil?

      # @return [Object, nil] a value that no caller has taken
      def untaken = @taken ? nil : @value

      def wait = @done.pop

      # @yield when the block is over, on its thread
      # @return [Boolean] whether it is not over yet; else the block given here is never called
      def on_end(&ending) = @lock.synchronize { !@over && (@ending = ending) && true }

      # Runs on its thread. An interrupt reaches the block alone, and only as it waits: see {Driver::OneSocket}.
      def run
        @error = WorkerDied.new("the thread of this call was killed before it had ended")
        keep(Thread.handle_interrupt(Object => :on_blocking) { @block.call }) unless @lock.synchronize { @left }
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

      def keep(value) = @lock.synchronize { @left ? value && @discard.call(value) : @value = value }

      def finish
        ending = @lock.synchronize do
          @over = true
          @ending
        end
        ending&.call
      ensure
        @done.close
      end
    end
    private_constant :DetachedCall
  end
end
