# frozen_string_literal: true

module Plait
  module DB
    # A call in C that no interruption reaches (connecting, with mysql2), for a fiber: on a thread of its own, which is left
    # alone when nobody waits for it any longer, and throws away what it gets. On the offload pool some such calls would keep
    # everybody else waiting for seconds.
    class Apart
      # Threads at once. Who comes later waits for one of them to end, as fibers can.
      MOST = 64
      private_constant :MOST

      @lock = Mutex.new

      class << self
        # @param discard [#call] is given what came too late
        # @return [Object] what the block returns
        def call(discard:, &block) = new(block, discard).value

        # @return [Thread::SizedQueue] a place for each; the threads of a parent are not here
        # @api private
        def places
          @lock.synchronize do
            @places = Thread::SizedQueue.new(MOST) if @pid != Process.pid
            @pid = Process.pid
            @places
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
        start
        @done.pop
        taken = true
        raise @error if @error

        @value
      ensure
        leave unless taken
      end

      private

      # Between taking a place and having the thread that gives it back nothing may come.
      def start
        places = self.class.places
        Thread.handle_interrupt(Object => :on_blocking) do
          places.push(true)
          Thread.new { run(places) }.report_on_exception = false
        rescue ThreadError
          places.pop
          raise
        end
      end

      def run(places)
        value = @block.call
        @lock.synchronize { @left ? @discard.call(value) : @value = value }
      rescue StandardError => e
        @error = e
      ensure
        places.pop
        @done << true
      end

      def leave
        @lock.synchronize do
          @left = true
          @discard.call(@value) if @value
        end
      end
    end
  end
end
