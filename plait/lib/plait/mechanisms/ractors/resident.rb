# frozen_string_literal: true

require_relative "explanation"
require_relative "port"
require_relative "tickets"
require_relative "timed_attempt"
require_relative "../interruption"
require_relative "../mechanism"
require_relative "../processes/portable_error"
require_relative "../state"

module Plait
  module Mechanisms
    class Ractors < Mechanism
      # The life of one ractor of a pool, from inside: takes jobs, runs the block, puts reports, until it is told to stop.
      # Nothing here may touch what isn't shareable: no variables of classes, no autoload.
      class Resident
        # Seconds between looks at threads that are ending.
        LOOK = 0.0001

        # @param number [Integer] of this worker
        # @param body [Body]
        # @param policy [Options]
        # @param pipes [Array<IO>] one that ends this ractor when it becomes readable, in the middle of a block if need be;
        #   and that of the pool's {Tickets} for it
        # @param address [Object] of the pool's {Port}
        def initialize(number, body, policy, pipes, address)
          @attempt = TimedAttempt.new(body, policy)
          @lifeline, tickets = pipes
          @tickets = Tickets::Far.new(tickets)
          @port = Port.reach(address, number)
          @attempts = Port::UNSTAFFED
        end

        # An interruption may arrive while this waits or runs the block: anywhere else it would lose a report.
        # @return [void]
        def run
          Thread.current.report_on_exception = false
          Thread.handle_interrupt(Interruption => :never) do
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
            IO.select([@lifeline])
            @told = true
            worker.raise(Interruption.new) unless @leaving
          end
        end

        def work
          while (_, index, arguments, made = interruptible { next_job })
            State.clear
            report = report_of(interruptible { attempt(index, arguments, made) })
            break if @told # and the block has swallowed it: nobody waits for its report any more

            interruptible { @port.put(report) { |reason| refusal(report, reason) } }
          end
          @leaving = true
        end

        # @return [Array, nil] of those that wait here, the next one that the pool has not taken back
        def next_job
          job = ::Ractor.receive
          job = ::Ractor.receive until job.nil? || @tickets.valid?(job.first)
          job
        end

        def attempt(index, arguments, made)
          @attempts = made + 1
          @attempt.call(index, arguments, made: made) { |number, _| @attempts = number }
        end

        def interruptible(&block) = Thread.handle_interrupt(Interruption => :immediate, &block)

        def report_of(outcome)
          error = outcome.error && Processes::PortableError.dump(outcome.error).freeze
          [outcome.index, outcome.value, error, outcome.attempts, outcome.started_at, outcome.finished_at]
        end

        def refusal(report, reason)
          index, value, _, *rest = report
          [index, nil, Processes::PortableError.dump(Explanation.of_result(value, index, reason)).freeze, *rest]
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
    end
  end
end
