# frozen_string_literal: true

require "plait/values/deadline"
require "plait/cli/command"
require_relative "job"
require_relative "result"
require_relative "retries"

module Plait
  module CLI
    class Fetch < Command
      # What follows from a result: another attempt, a host that is left alone for a while, a finished line.
      class Settlement
        # Seconds that a host may ask to be left alone; one that asks for more is given up.
        PATIENCE = 3600.0

        # @param book [Book]
        # @param tally [Tally]
        # @param retries [Retries]
        # @param crawl [Crawl, nil]
        def initialize(book, tally, retries, crawl = nil)
          @book = book
          @tally = tally
          @retries = retries
          @crawl = crawl
        end

        # @return [Schedule] set before the first call: it refuses jobs through this object
        attr_writer :schedule

        # @param job [Job] that has been run
        # @param result [Result]
        # @return [void]
        # @raise [Terminal::Closed, Terminal::Unwritable]
        def settle(job, result)
          now = Deadline.now
          asked = Retries.asked(result)
          return give_up(job, result) if asked && asked > PATIENCE

          @schedule.pause(job.host, now + asked) if asked
          return conclude(job, result) unless @retries.again?(job, result)

          @tally.again += 1
          @schedule.again(job, now + (asked || @retries.pause(job.attempts)))
        end

        # A job that the schedule does not take.
        # @return [void]
        def refuse(job)
          conclude(job, Result.failure("retry_after", "#{job.host} asks not to be called for a long time (Retry-After)"))
        end

        # A job that a robots.txt does not allow: a failure only for a URL that somebody asked for.
        # @param rules [RobotsRules]
        # @return [void]
        def disallow(job, rules)
          why = rules.unreachable? ? "the robots.txt of #{job.origin} can't be had" : "the robots.txt of #{job.origin} forbids it"
          return conclude(job, Result.failure("robots", why)) if job.depth.zero?

          @tally.disallowed += 1
          @book.skip(job.line)
        end

        # A line that is no URL.
        # @param line [Line]
        # @return [void]
        def reject(line, problem)
          job = Job.new(line: line.number, url: line.text, attempts: 0)
          conclude(job, Result.failure("bad_line", problem))
        end

        private

        def give_up(job, result)
          conclude(job, result)
          @schedule.close(job.host)
        end

        def conclude(job, result)
          return @crawl.learn(job, result, @schedule) if job.robots?

          @crawl&.harvest(job, result)
          @book.finish(job, result)
          @tally.add(result)
        end
      end
    end
  end
end
