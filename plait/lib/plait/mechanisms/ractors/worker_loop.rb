# frozen_string_literal: true

require_relative "port"

module Plait
  module Mechanisms
    class Ractors < Mechanism
      # The life of one ractor of a pool, from inside: takes jobs, runs the block, puts reports, until the pool stops it.
      # Nothing here may touch objects that aren't shareable: no variables of classes, no autoload.
      class WorkerLoop
        # Seconds between looks at threads that are ending.
        LOOK = 0.0001

        # @param number [Integer] of this worker
        # @param pipes [Array<IO>] one that ends this ractor when it becomes readable, in the middle of a block if need be;
        #   and that of the pool's {Tickets} for it
        # @param address [Object] of the pool's {Port}
        def initialize(number, body, policy, pipes, address)
          State.clear # from Ruby 3.2 on a ractor begins with the fiber storage of the one that starts it, uncopied
          @attempt = TimedAttempt.new(body, policy)
          @lifeline, tickets = pipes
          @tickets = Tickets::Far.new(tickets)
          @port = Port.reach(address, number)
          @attempts = Port::NO_THREADS
        end

        # An interruption may arrive while this waits or runs the block: anywhere else it would lose a report.
        def run
          Native.keep_native_thread
          Thread.current.report_on_exception = false
          Interruption.hold do
            prepare
            work
          ensure
            leave
          end
        rescue Interruption, ThreadError
          nil
        end

        private

        # Starts the threads that it can't do without.
        def prepare
          @listener = listen(Thread.current)
          @attempt.prepare
        end

        # The one way to reach into a running ractor: Ruby has no Ractor#kill, and a thread of another ractor can't be raised
        # into. IO.select, because a thread that Ruby 3.3 has parked at IO#read it at times forgets (M:N threads, 3.3.8).
        def listen(worker)
          Thread.new do
            Native.keep_native_thread
            IO.select([@lifeline])
            @stopped = true
            worker.raise(Interruption.new) unless @leaving
          end
        end

        def work
          while (_, index, arguments, made = Interruption.admit { next_job })
            State.clear
            report = report_of(Interruption.admit { attempt(index, arguments, made) })
            break if @stopped # and the block has swallowed it: the pool no longer waits for its report

            Interruption.admit { @port.put(report) { |reason| refusal(report, reason) } }
          end
          @leaving = true
        end

        # @return [Array, nil] the next waiting job that the pool has not taken back
        def next_job
          job = ::Ractor.receive
          job = ::Ractor.receive until job.nil? || @tickets.valid?(job.first)
          job
        end

        def attempt(index, arguments, made)
          @attempts = made + 1
          @attempt.call(index, arguments, made: made) { |number, _| @attempts = number }
        end

        def report_of(outcome)
          error = outcome.error && Portable::Error.dump(outcome.error).freeze
          [outcome.index, outcome.value, error, outcome.attempts, outcome.started_at, outcome.finished_at]
        end

        def refusal(report, reason)
          index, value, _, *rest = report
          [index, nil, Portable::Error.dump(Explanation.of_result(value, index, reason)).freeze, *rest]
        end

        # A ractor whose first thread ends before the others is removed a second later (rb_thread_terminate_all in thread.c).
        # Not Thread#join: in a ractor of Ruby 3.3.8 it at times misses the end of the thread.
        def leave
          @listener&.kill unless @leaving
          others = Thread.list - [Thread.current]
          (others - [@listener]).each(&:kill)
          sleep(LOOK) while others.any?(&:alive?)
          [@lifeline, @tickets].each(&:close)
        ensure
          @port.gone(@attempts)
        end
      end

      # {Attempt} with a clock that works in a ractor.
      class TimedAttempt < Attempt
        def prepare = (Clock.current.prepare if @timed)

        private

        def timed(item)
          seconds, error = allowance
          Clock.current.enforce(seconds, error) { @body.call(item) }
        end
      end

      # Time limits inside a ractor, one thread for all of them. The `timeout` library keeps its thread in a constant,
      # which only the main ractor may see (Ruby 3.3: IsolationError); the one of Ruby 3.1 starts a thread for each call.
      class Clock
        # Raised in the body; the token tells nested limits apart.
        class Expired < Interruption; end

        Alarm = Struct.new(:at, :thread, :token, :rung)
        NEVER = Float::INFINITY

        # @return [Clock] the one of the ractor that asks
        def self.current = ::Ractor.current[:plait_clock] ||= new

        def initialize
          @lock = Thread::Mutex.new
          @changed = Thread::ConditionVariable.new
          @alarms = []
          @wakes_at = NEVER
        end

        # @raise [ThreadError] when the system gives no thread
        def prepare = @lock.synchronize { @thread ||= Thread.new { watch } }

        # @return [Object] the block's value
        # @raise [TimeoutError] of the given class
        def enforce(seconds, error = TimeoutError, &block)
          token = Deadline.overrun(seconds)
          raise error, token unless seconds.positive?

          alarm = Alarm.new(Deadline.now + [seconds, TimeLimit::LONGEST].min, Thread.current, token)
          Interruption.hold { run(alarm, &block) }
        rescue Expired => e
          raise unless e.message.equal?(token)

          raise e.instead || error, e.instead&.message || token, e.backtrace
        end

        private

        def run(alarm, &block)
          prepare
          set(alarm)
          Interruption.admit(&block)
        ensure
          remove(alarm)
        end

        # Wakes the thread only for an alarm before the one it sleeps towards: with one limit for all items that is once
        # per limit, not once per item.
        def set(alarm)
          @lock.synchronize do
            @alarms << alarm
            @changed.signal if alarm.at < @wakes_at
          end
        end

        # An alarm that rang at the last moment must go off here, not in the item that comes next.
        def remove(alarm)
          @lock.synchronize { @alarms.delete(alarm) { nil } }
          Thread.handle_interrupt(Expired => :immediate) { Thread.pass } if alarm.rung
        end

        def watch
          Native.keep_native_thread
          @lock.synchronize do
            loop do
              ring
              @wakes_at = @alarms.map(&:at).min || NEVER
              @changed.wait(@lock, @wakes_at == NEVER ? nil : [@wakes_at - Deadline.now, 0].max)
            end
          end
        end

        def ring
          due, @alarms = @alarms.partition { |alarm| alarm.at <= Deadline.now }
          due.each do |alarm|
            alarm.rung = true
            alarm.thread.raise(Expired, alarm.token)
          end
        end
      end

      # Decides which side starts a job that waits at a ractor. A message can't be taken back out of its mailbox, so a ticket
      # for each lies in a pipe: the side that takes it first has the job, the ractor to start it or the pool to give it to
      # another.
      class Tickets
        FORMAT = "L"
        SIZE = 4

        def initialize
          @reader, @writer = IO.pipe(binmode: true)
          @last = 0
        end

        # @return [IO] for {Far}; Ractor.new makes a copy of it
        def address = @reader

        # @return [Integer] for the next job
        def issue
          @last += 1
          @writer.write_nonblock([@last].pack(FORMAT))
          @last
        end

        # @return [Integer, nil] the oldest that has not been taken
        def take = Tickets.take(@reader)

        def close = [@reader, @writer].each(&:close)

        # Each read takes a whole one: what the pipe holds is a multiple of it.
        def self.take(pipe)
          bytes = pipe.read_nonblock(SIZE, exception: false)
          bytes.unpack1(FORMAT) if bytes.is_a?(String)
        end

        # In the ractor.
        class Far
          def initialize(pipe)
            @pipe = pipe
            @held = 0
          end

          # @param number [Integer] of a job; they come in order
          # @return [Boolean] whether it may start
          def valid?(number)
            while @held < number
              ticket = Tickets.take(@pipe) or return false
              @held = ticket
            end
            @held == number
          end

          def close = @pipe.close
        end
      end
    end
  end
end
