# frozen_string_literal: true

require_relative "explanation"
require_relative "port"
require_relative "timed_attempt"
require_relative "../interruption"
require_relative "../mechanism"
require_relative "../processes/portable_error"

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
        # @param lifeline [IO] ends this ractor when it becomes readable, in the middle of a block if need be
        # @param address [Object] of the pool's {Port}
        def initialize(number, body, policy, lifeline, address)
          @attempt = TimedAttempt.new(body, policy)
          @lifeline = lifeline
          @port = Port.reach(address, number)
        end

        # An interruption may arrive while this waits or runs the block: anywhere else it would lose a report.
        # @return [void]
        def run
          Thread.current.report_on_exception = false
          Thread.handle_interrupt(Interruption => :never) do
            @listener = listen(Thread.current)
            work
          ensure
            leave
          end
        rescue Interruption
          nil
        end

        private

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
          while (index, arguments = interruptible { ::Ractor.receive })
            report = report_of(interruptible { @attempt.call(index, arguments) })
            break if @told # and the block has swallowed it: nobody waits for its report any more

            interruptible { @port.put(report) { |reason| refusal(report, reason) } }
          end
          @leaving = true
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
          @listener.kill unless @leaving
          others = Thread.list - [Thread.current]
          (others - [@listener]).each(&:kill)
          sleep(LOOK) while others.any?(&:alive?)
          @lifeline.close
        ensure
          @port.gone
        end
      end
    end
  end
end
