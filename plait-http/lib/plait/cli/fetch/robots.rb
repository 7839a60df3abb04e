# frozen_string_literal: true

require "plait/cli/command"
require_relative "job"
require_relative "robots/rules"

module Plait
  module CLI
    class Fetch < Command
      # Lets through what the robots.txt of its origin allows, and asks for that first. It stands between an {Intake} and
      # a {Schedule}.
      class Robots
        # Jobs that may wait for a robots.txt.
        PARKED = 1024

        # @param source [#take]
        # @param agent [String] product token of this crawler
        # @yieldparam job [Job] that is not allowed
        # @yieldparam rules [Rules]
        def initialize(source, agent, &refuse)
          @source = source
          @agent = agent
          @refuse = refuse
          @rules = {}
          @parked = {}
          @freed = []
        end

        # @return [Job, Symbol, nil] as of the source; a job without a line asks for a robots.txt
        def take
          while (job = next_job)
            return job if job == :wait

            admitted = admit(job) and return admitted
          end
        end

        # @param job [Job] that asked for a robots.txt
        # @param result [Result]
        # @return [Rules]
        def learn(job, result)
          rules = @rules[job.origin] = Rules.from(result, @agent)
          @freed.concat(@parked.delete(job.origin) || [])
          rules
        end

        private

        def next_job
          return @freed.shift unless @freed.empty?

          @parked.sum { |_, jobs| jobs.size } >= PARKED ? :wait : @source.take
        end

        # @return [Job, nil] what may be asked for now
        def admit(job)
          rules = @rules[job.origin] or return park(job)
          return job if rules.allow?(target(job))

          @refuse.call(job, rules)
          nil
        end

        def park(job)
          waiting = @parked[job.origin]
          return waiting.push(job) && nil if waiting

          @parked[job.origin] = [job]
          Job.new(line: nil, url: "#{job.origin}#{Rules::FILE}", host: job.host, origin: job.origin, depth: 0, attempts: 0)
        end

        def target(job)
          rest = job.shown.delete_prefix(job.origin)
          rest.start_with?("/") ? rest : "/#{rest}"
        end
      end
    end
  end
end
