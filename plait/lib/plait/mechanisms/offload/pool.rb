# frozen_string_literal: true

require "etc"
require_relative "job"
require_relative "../interruption"
require_relative "../no_thread"
require_relative "../state"
require_relative "../../values/errors"

module Plait
  module Mechanisms
    module Offload
      # A bounded pool of threads. It grows by the jobs outstanding, not by whether a thread is idle just now: a thread
      # that was told of a job but has not woken up yet still counts as idle. Threads leave when they have been idle.
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
          @pid = Process.pid
        end

        # @param stop [#call, nil] see {Plait.offload}
        # @return [Object] what the block returns
        # @raise [Exception] what it raises
        # @raise [OffloadRefused] when the pool is closed
        def call(stop: nil, &block)
          job = Job.new(block, stop)
          enqueue(job)
          job.wait
        end

        # @return [Boolean] whether it is closed, or its threads stayed behind in the parent of a fork
        def stale? = @closed || @pid != Process.pid

        # Ends the idle threads now and the busy ones after their job.
        def close
          @lock.synchronize do
            @closed = true
            @arrived.broadcast
          end
          @threads.dup.each(&:join)
        end

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

        # Where the system gives no further thread, those that are there do the work.
        def start_thread
          thread = Thread.handle_interrupt(Exception => :never) { Thread.new { work } }
          thread.name = "plait offload"
          thread.report_on_exception = false
          @threads << thread
        rescue ThreadError => e
          raise NoThread.for("Plait.offload", e) if @threads.empty?
        end

        def work
          State.clear # a thread inherits the storage of the fiber that starts it
          while (job = next_job)
            # An exception that came after its job, or while the thread was idle, must not hit the next job. Ruby must not be
            # asked for its class: Ruby 3.1 takes all that is pending, a kill and an exception too, for a class, and crashes.
            drop_exceptions if Thread.pending_interrupt?
            run(job)
          end
        ensure
          @lock.synchronize do
            leave
            succeed unless @jobs.empty?
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
          State.clear
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
        rescue Exception # rubocop:disable Lint/RescueException -- whatever it is, it was meant for a job that is over
          retry
        end
      end
    end
  end
end
