# frozen_string_literal: true

require "etc"

module Plait
  # Blocking calls of fibers, run on threads: the fiber waits, the loop goes on.
  module Offload
    SHARING = Mutex.new

    # @param stop [#call, nil] see {Plait.offload}
    # @return [Object] the block's value; outside of a fiber scheduler it just runs
    def self.call(stop: nil, &block)
      scheduler = Fiber.current_scheduler
      return yield unless scheduler

      pool = scheduler.respond_to?(:offload_pool) ? scheduler.offload_pool : shared
      pool.mine? ? yield : pool.call(stop: stop, &block)
    end

    # For the fibers of other schedulers; a scheduler of ours has, and closes, a pool of its own.
    def self.shared
      SHARING.synchronize do
        @shared = Pool.new if @shared.nil? || @shared.stale?
        @shared
      end
    end

    # A bounded pool of threads. It grows by the jobs outstanding, not by whether a thread is idle just now: a thread
    # that was given a job but has not woken up yet still counts as idle. Threads leave when they have been idle.
    class Pool
      DEFAULT_SIZE = [Etc.nprocessors * 4, 16].max
      # Seconds without a job after which a thread ends.
      IDLE = 5.0

      # @return [Integer] threads at most
      attr_reader :size

      def initialize(size: DEFAULT_SIZE, idle: IDLE)
        @size = size
        @idle = idle
        @lock = Mutex.new
        @arrived = ConditionVariable.new
        @jobs = []
        @threads = []
        @outstanding = 0
        @generation = Native.fork_generation
      end

      # @param stop [#call, nil] see {Plait.offload}
      # @return [Object] the block's value
      # @raise [Exception] the block's error
      # @raise [OffloadRefused] when the pool is closed
      def call(stop: nil, &block)
        job = Job.new(block, stop)
        enqueue(job)
        job.wait
      end

      # @return [Boolean] whether it is closed, or its threads stayed behind in the parent of a fork
      def stale? = @closed || forked?

      # @return [Boolean] whether the current thread is one of its own: all might wait for one another
      def mine? = @threads.include?(Thread.current)

      # Ends the idle threads now and the busy ones after their job.
      def close
        @lock.synchronize do
          @closed = true
          @arrived.broadcast
        end
        @threads.dup.each(&:join)
      end

      # @return [Boolean] whether its threads stayed behind in the parent of a fork
      def forked? = @generation != Native.fork_generation

      private

      def enqueue(job)
        @lock.synchronize do
          raise OffloadRefused, "the offload pool is closed: its event loop has ended" if @closed

          start_thread if @outstanding >= @threads.size && @threads.size < @size
          @jobs << job
          @outstanding += 1
          @arrived.signal
        end
      end

      # Where the system gives no further thread, the existing threads do the work.
      def start_thread
        thread = Thread.handle_interrupt(Exception => :never) { Thread.new { work } } # a kill gets in
        thread.name = "plait offload"
        thread.report_on_exception = false
        @threads << thread
      rescue ThreadError => e
        raise UnsupportedError.no_thread("Plait.offload", e) if @threads.empty?
      end

      def work
        Mechanisms::State.clear # a thread inherits the storage of the fiber that starts it
        while !forked? && (job = next_job)
          # An exception that came after its job, or while the thread was idle, must not hit the next job. Ruby must not be
          # asked for its class: Ruby 3.1 takes all that is pending, a kill and an exception too, for a class, and crashes.
          drop_exceptions if Thread.pending_interrupt?
          run(job)
        end
      ensure
        @lock.synchronize do
          leave
          succeed unless @jobs.empty? || forked?
        end
      end

      # The thread was killed at a job, and others may wait for it.
      def succeed
        start_thread
      rescue UnsupportedError => e
        @outstanding -= @jobs.size
        @jobs.slice!(0..).each { |job| job.give_up(e) }
      end

      def run(job)
        job.run
      ensure
        Mechanisms::State.clear
        @lock.synchronize { @outstanding -= 1 }
      end

      # In the same locked section in which it was decided: a job that arrives in between would count on this thread.
      def leave
        @threads.delete(Thread.current)
        nil
      end

      def next_job
        @lock.synchronize do
          while @jobs.empty?
            return leave if @closed

            limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + @idle
            @arrived.wait(@lock, @idle)
            return leave if @jobs.empty? && Process.clock_gettime(Process::CLOCK_MONOTONIC) >= limit
          end
          @jobs.shift
        end
      end

      def drop_exceptions
        Thread.handle_interrupt(Exception => :immediate) { Thread.pass }
      rescue Exception # rubocop:disable Lint/RescueException -- it was meant for a job that is over
        retry
      end
    end

    # One block on its way to a thread and back.
    class Job
      # Seconds that an interrupted block has for its `ensure` parts before its thread is killed.
      GRACE = 2.0

      # @param stop [#call, nil] ends a call in C that no interruption reaches
      def initialize(block, stop = nil)
        @block = block
        @storage = Mechanisms::State.storage
        @stop = stop
        @generation = Native.fork_generation
        @done = Thread::Queue.new # a fiber that pops it waits in its scheduler
        @lock = Mutex.new
      end

      # On the pool's thread.
      def run
        return unless start

        begin
          @error = WorkerDied.new("the thread of an offloaded block was killed before the block had ended")
          Mechanisms::State.inherit(@storage)
          @value = Thread.handle_interrupt(Exception => :immediate) { @block.call }
          @error = nil
        rescue Exception => e # rubocop:disable Lint/RescueException -- it belongs to the fiber
          raise unless Native.fork_generation == @generation # it ends a child that the block has forked

          @error = e
        ensure
          finish
        end
      end

      # Instead of {#run}.
      def give_up(error)
        @error = error
        finish
      end

      # In the fiber.
      # @return [Object] the block's value
      # @raise [Exception] the block's error, or the exception that interrupted the wait, after the block has ended
      # @raise [WorkerDied] when the block has ended its thread
      def wait
        await_end
        raise @error if @error

        @value
      end

      private

      # Whatever ends the wait (a cancellation, a timeout, an exception from another thread) ends the block too.
      def await_end
        @done.pop
      rescue Exception # rubocop:disable Lint/RescueException
        stop
        raise
      end

      def start = @lock.synchronize { @stopped ? false : @thread = Thread.current }

      def finish
        @lock.synchronize { @thread = nil }
        @done << true
      end

      def stop
        return unless interrupt_thread

        call_stop
        killer = start_killer
        await_stop
      ensure
        killer&.kill
      end

      # Its error would hide what has ended the wait.
      def call_stop
        @stop&.call
      rescue StandardError
        nil
      end

      # Where the system gives no thread, its block may take as long as it likes.
      def start_killer
        Thread.new { kill_late }
      rescue ThreadError
        nil
      end

      def interrupt_thread
        @lock.synchronize do
          @stopped = true
          @thread&.raise(Mechanisms::Interruption.new)
          @thread
        end
      end

      # Also when further interruptions come: the last of them is raised then.
      def await_stop
        @done.pop
      rescue Exception => e # rubocop:disable Lint/RescueException
        later = e
        retry
      ensure
        raise later if later
      end

      # Its thread may be at another's job by now.
      def kill_late
        sleep(GRACE)
        @lock.synchronize { @thread&.kill }
        @done << true
      end
    end
  end
  private_constant :Offload
end
