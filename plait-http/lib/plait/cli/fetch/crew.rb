# frozen_string_literal: true

require "plait/mechanisms"
require "plait/mechanisms/attempt"
require "plait/mechanisms/options"
require "plait/mechanisms/sequence"
require "plait/values/deadline"
require "plait/values/errors"
require "plait/cli/command"
require_relative "result"

module Plait
  module CLI
    class Fetch < Command
      # Runs jobs on a mechanism, each when the schedule has it.
      #
      # An executor can only be asked to wait for the next outcome, for as long as that takes. So that the caller gets a
      # word in now and then, one more item is in it: a number, for which a worker sleeps so many seconds.
      class Crew
        # Seconds between two looks at the clock.
        TICK = 0.05
        # Seconds; a shorter sleep is not worth an item.
        SHORTEST = 0.001

        # @param fetcher [#call] from a {Job} to a {Result}; copied to other processes where the mechanism has such
        # @param on [Symbol, Array<Symbol>] a mechanism
        # @param limit [Integer] jobs at once
        # @raise [UnsupportedError] where the mechanism can't be used
        def initialize(fetcher, on:, limit:)
          @mechanism = Mechanisms.fetch(on)
          @alone = @mechanism.is_a?(Mechanisms::Sequence)
          @limit = @alone ? 1 : limit
          body = ->(item) { item.is_a?(Float) ? sleep(item) : fetcher.call(item) }
          @attempt = Mechanisms::Attempt.new(body, Mechanisms::Options.new)
        end

        # @param schedule [Schedule]
        # @yieldparam job [Job, nil] nil when only time has passed
        # @yieldparam result [Result, nil]
        # @return [void] when nothing is left to do
        def each_result(schedule)
          @executor = @mechanism.executor(@attempt, limit: @limit + 1)
          @index = -1
          @ticking = false
          loop do
            begin_jobs(schedule)
            break if schedule.over?(Deadline.now)

            job, result = collect(schedule)
            schedule.finished(job, Deadline.now) if job
            yield job, result
          end
          complete = true
        ensure
          shut(complete)
        end

        private

        def begin_jobs(schedule)
          while schedule.active < @limit && (job = schedule.take(Deadline.now))
            job.attempts += 1
            submit(job)
          end
        end

        def submit(item) = @executor.submit(@index += 1, item)

        def collect(schedule)
          pause = [schedule.wait(Deadline.now) || TICK, TICK].min.clamp(SHORTEST, TICK)
          return sleep(pause) && nil if schedule.active.zero?

          tick(pause) unless @alone || @ticking
          outcome = @executor.take
          return @ticking = nil if outcome.item.is_a?(Float)

          [outcome.item, outcome.value || result(outcome.error)]
        end

        def tick(seconds)
          @ticking = true
          submit(seconds.to_f)
        end

        # The fetcher raises what ends the run; but a worker may have died over the job.
        # @return [Result]
        def result(error) = error.is_a?(WorkerDied) ? Result.of(error) : raise(error)

        def shut(complete)
          @executor&.cancel unless complete && !@ticking
        ensure
          @executor&.close
        end
      end
    end
  end
end
