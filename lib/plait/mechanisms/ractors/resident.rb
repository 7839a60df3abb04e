# frozen_string_literal: true

require_relative "clock"
require_relative "error_copy"
require_relative "explanation"
require_relative "port"
require_relative "../attempt"
require_relative "../interruption"
require_relative "../mechanism"

module Plait
  module Mechanisms
    class Ractors < Mechanism
      # The life of one ractor of a pool, from inside: takes jobs, runs the block, puts reports, until it is told to stop.
      # Nothing here may touch what isn't shareable: no variables of classes, no autoload.
      class Resident
        # {Attempt} with a clock that works in a ractor.
        class TimedAttempt < Attempt
          private

          def timed(item)
            seconds, error = allowance
            Clock.current.enforce(seconds, error) { @body.call(item) }
          end
        end

        # @param number [Integer] of this worker
        # @param body [Body]
        # @param policy [Options]
        # @param lifeline [IO] ends this ractor when it becomes readable, in the middle of a block if need be
        # @param address [Object] of the pool's {Port}
        def initialize(number, body, policy, lifeline, address)
          @attempt = TimedAttempt.new(body, policy)
          @lifeline = lifeline
          @port = Port.for(address, number)
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

        # The one way to reach into a running ractor: Ruby has no Ractor#kill, and no thread of another ractor may be
        # raised into.
        def listen(worker)
          Thread.new do
            IO.select([@lifeline])
            @told = true
            worker.raise(Interruption.new) unless @leaving
          end
        end

        # A ractor whose main thread ends with others alive is removed only a second later (Ruby 3.1,
        # rb_thread_terminate_all). Looked at again and again, because Thread#join in a ractor at times doesn't notice the
        # end of a thread (Ruby 3.3.8, its M:N threads).
        def leave
          @listener.kill unless @leaving
          others = Thread.list - [Thread.current]
          (others - [@listener]).each(&:kill)
          sleep(0.0001) while others.any?(&:alive?)
          @lifeline.close
          @port.gone
        end

        def work
          while (index, arguments = interruptible { ::Ractor.receive })
            report = report_of(interruptible { @attempt.call(index, arguments) })
            break if @told # a block that swallowed the interruption: nobody waits for its report any more

            interruptible { @port.put(report) { |reason| refusal(report, reason) } }
          end
          @leaving = true
        end

        def interruptible(&block) = Thread.handle_interrupt(Interruption => :immediate, &block)

        def report_of(outcome)
          [outcome.index, outcome.value, ErrorCopy.pack(outcome.error), outcome.attempts, outcome.started_at, outcome.finished_at]
        end

        def refusal(report, reason)
          index, value, _, *rest = report
          [index, nil, ErrorCopy.pack(Explanation.of_result(value, index, reason)), *rest]
        end
      end
    end
  end
end
