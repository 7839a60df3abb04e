# frozen_string_literal: true

require "plait/values/errors"
require "plait/cli/command"
require_relative "address"
require_relative "links"
require_relative "robots"

module Plait
  module CLI
    class Fetch < Command
      # What makes a list of URLs grow: the links of the pages that come back, on the same host, and no deeper than
      # allowed.
      class Crawl
        REDIRECTS = [301, 302, 303, 307, 308].freeze

        # @param frontier [Frontier]
        # @param depth [Integer] links from a URL of the input to a page
        def initialize(frontier, depth:)
          @frontier = frontier
          @depth = depth
        end

        # @return [Robots] set before the first result
        attr_writer :robots

        # Takes in where to begin. What was taken in before an interruption is known already.
        # @param source [Lines, Words] read to its end
        # @yieldparam line [Line] that is no URL
        # @yieldparam problem [String]
        # @return [void]
        def plant(source)
          while (line = source.take)
            next source.await if line == :wait
            next if line.blank?

            problem = sow(line)
            yield line, problem if problem
          end
        end

        # @param job [Job] that asked for a robots.txt
        # @return [void]
        def learn(job, result, schedule)
          delay = @robots.learn(job, result).delay
          schedule.space_out(job.host, delay) if delay.positive?
        end

        # @param job [Job]
        # @param result [Result] of a page
        # @return [void]
        def harvest(job, result)
          return if job.depth >= @depth || result.error

          links(job, result).each do |url|
            @frontier.add(url.to_s, job.depth + 1) if url.host == job.host || (job.depth.zero? && redirect?(result))
          end
        end

        private

        def sow(line)
          return line.problem if line.problem

          job = Address.job(line.text, line: line.number)
          @frontier.add(job.url, 0)
          nil
        rescue UsageError => e
          e.message
        end

        # A redirect is a link like others, so that robots.txt and the number of pages hold for where it leads. A URL of the
        # input may lead to another host, as from example.org to www.example.org.
        def links(job, result)
          return Links.of(result, job.url) unless redirect?(result)

          [Address.resolve(result.header("location").to_s, job.url)].compact
        end

        def redirect?(result) = REDIRECTS.include?(result.status)
      end
    end
  end
end
