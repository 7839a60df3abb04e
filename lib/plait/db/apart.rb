# frozen_string_literal: true

require_relative "../values/errors"

module Plait
  module DB
    # A call in C that no interruption reaches (connecting, with mysql2), for a fiber: on a thread of its own, which is left
    # alone when nobody waits for it any longer, and throws away what it gets. On the offload pool some such calls would keep
    # everybody else waiting for seconds.
    class Apart
      # Threads at once. Who comes later waits for one of them to end, as fibers can.
      MOST = 64
      # Around changes of the books alone, and never a wait: a mask of ours would go before the caller's.
      NEVER = { Object => :never }.freeze
      private_constant :MOST, :NEVER

      # Who has a thread, and who waits for one, in the order of asking.
      class Line
        def initialize
          @lock = Mutex.new
          @waiting = []
          @threads = 0
        end

        # @param call [Apart]
        def enter(call)
          @lock.synchronize do
            @waiting << call
            serve
          end
        end

        # @return [Integer] threads, and who waits for one
        def count = @lock.synchronize { @threads + @waiting.size }

        private

        def serve
          start(@waiting.shift) while @waiting.any? && @threads < MOST
        end

        # The thread inherits the mask, without which it could end before it has told anybody.
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
        # @return [Object] what the block returns
        # @raise [WorkerDied] when the block has ended its thread
        # @raise [ThreadError] when the system gives none
        def call(discard:, &block) = new(block, discard).value

        # @return [Line] the threads of a parent are not here
        # @api private
        def line
          @lock.synchronize do
            @line = Line.new if @pid != Process.pid
            @pid = Process.pid
            @line
          end
        end
      end

      def initialize(block, discard)
        @block = block
        @discard = discard
        @lock = Mutex.new
        @done = Thread::Queue.new
      end

      # @return [Object]
      def value
        Thread.handle_interrupt(NEVER) { self.class.line.enter(self) }
        @done.pop
        taken = true
        raise @error if @error

        @value
      ensure
        Thread.handle_interrupt(NEVER) { leave } unless taken
      end

      # On its thread, where nothing can come but to the block.
      # @api private
      def run
        @error = WorkerDied.new("the thread of this call was killed before it had ended")
        keep(Thread.handle_interrupt(Object => :immediate) { @block.call }) unless @lock.synchronize { @left }
        @error = nil
      rescue Exception => e # rubocop:disable Lint/RescueException -- it belongs to who waits
        @error = e
      ensure
        @done << true
      end

      # Instead of {run}.
      # @api private
      def give_up(error)
        @error = error
        @done << true
      end

      private

      def keep(value) = @lock.synchronize { @left ? @discard.call(value) : @value = value }

      def leave
        @lock.synchronize do
          @left = true
          @discard.call(@value) if @value
        end
      end
    end
  end
end
