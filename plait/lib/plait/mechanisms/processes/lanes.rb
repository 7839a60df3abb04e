# frozen_string_literal: true

require_relative "../interruption"
require_relative "../mechanism"
require_relative "../../values/deadline"
require_relative "../../values/outcome"
require_relative "answers"
require_relative "execution"
require_relative "guard"
require_relative "intake"

module Plait
  module Mechanisms
    class Processes < Mechanism
      # In a worker: runs several items at once, by the executor of another mechanism.
      #
      # That executor waits for its own items only. So that arriving ones wake it up too, one more item is in it: the
      # porter, which waits for arrivals and ends when there are some. The guard's thread does the reading.
      class Lanes
        PORTER = -1
        # Seconds after which a body that holds up an event loop is interrupted in its place.
        PATIENCE = 0.25

        # @param inner [Mechanism]
        # @param width [Integer] items at once
        # @param attempt [Attempt]
        # @param pipes [Hash{Symbol => IO}]
        def initialize(inner, width, attempt, pipes)
          @inner = inner
          @width = width
          @attempt = attempt
          @answers = Answers.new(pipes[:results], pipes[:bell])
          @intake = Intake.new(pipes[:items], @answers)
          @execution = Execution.new(attempt, @answers)
          @arrivals = Thread::Queue.new
          @begun = {}
          @main = Thread.current
          @guard = Guard.new(pipes[:lifeline], stop: method(:stop), recall: method(:recall),
                                               more: { pipes[:items] => method(:read) })
        end

        # @return [void] when the parent has no more items, or wants this process to end
        def run
          Thread.handle_interrupt(Interruption => :never) { work }
        rescue Errno::EPIPE
          nil # the parent is gone
        rescue Exception => e # rubocop:disable Lint/RescueException -- the parent tells it to the caller
          @answers.crash(e)
          raise
        ensure
          @guard.leave
        end

        # What the inner executor takes for an {Attempt}.
        # @return [Outcome]
        def call(index, task, worker, made: 0, &note)
          return arrivals if index == PORTER

          _, made_elsewhere, payload = task
          @execution.call(index, [made, made_elsewhere].max, payload, worker, &note)
        end

        def policy = @attempt.policy

        private

        def work
          return unless @answers.staff { prepare }

          turn until over?
        rescue Interruption
          nil
        ensure
          @ending = true
          @executor&.cancel
          @executor&.close
        end

        # One place for the porter, and one at least for items.
        def prepare
          @guard.watch
          @attempt.prepare
          @executor = @inner.executor(self, limit: @width + 1)
          @executor.prepare(2)
          @executor.submit(PORTER, nil)
        end

        def over? = @guard.stopped? || (@intake.over? && @intake.empty? && @begun.empty?)

        def turn
          finish(Thread.handle_interrupt(Interruption => :immediate) { @executor.take })
          finish(@executor.take) while @executor.ready?
          start while @begun.size < @width && !@intake.empty?
          @answers.ring if @begun.size < @width
        end

        def start
          task = @intake.shift
          @begun[task[0]] = true
          @executor.submit(task[0], task)
        end

        def finish(outcome)
          return @executor.submit(PORTER, nil) if outcome.index == PORTER

          @begun.delete(outcome.index)
          @answers.answer(outcome)
        end

        # The porter's part.
        def arrivals
          started = Deadline.now
          @arrivals.pop
          @arrivals.clear
          Outcome.new(index: PORTER, item: nil, started_at: started, finished_at: Deadline.now)
        end

        # The guard's part.
        # @return [Boolean] whether more may come
        def read
          @arrivals << true if @intake.read
          !@intake.over?
        end

        def recall = @answers.returned(@intake.recall)

        def stop
          @arrivals << true
          sleep(PATIENCE)
          @main.raise(Interruption.new) unless @ending
        end
      end
    end
  end
end
