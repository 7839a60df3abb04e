# frozen_string_literal: true

require "plait/cli/command"
require_relative "pattern"

module Plait
  module CLI
    class Fetch < Command
      class Robots
        # What a robots.txt allows one crawler (RFC 9309).
        class Rules
          # Bytes that are read of it (§2.5 asks for 500 kibibytes at least).
          LONGEST = 512 * 1024
          # Seconds between two requests that are honoured at most. Crawl-delay is no part of the RFC, but many sites use it.
          LONGEST_DELAY = 60.0
          FILE = "/robots.txt"

          # What is written for some crawlers; closed when no further name may be added.
          Group = Struct.new(:agents, :rules, :delay, :closed)

          # By how the request for it ended: nothing there, everything allowed (§2.3.1.3); unreachable, nothing (§2.3.1.4).
          # @param result [Result]
          # @param agent [String] product token of the crawler
          # @return [Rules]
          def self.from(result, agent)
            return new(result.body.to_s, agent) if result.ok? && (200..299).cover?(result.status)
            return new("", agent) if result.status && (300..499).cover?(result.status) && result.status != 429

            new("User-agent: *\nDisallow: /", agent, unreachable: true)
          end

          # @return [Float] seconds between two requests
          attr_reader :delay

          # @param text [String]
          # @param agent [String]
          # @param unreachable [Boolean] nobody knows what stands in it
          def initialize(text, agent, unreachable: false)
            @unreachable = unreachable
            groups = groups(text.b.delete_prefix("\xEF\xBB\xBF".b)[0, LONGEST])
            mine = choose(groups, agent.downcase)
            @rules = mine.flat_map(&:rules)
            @delay = mine.filter_map(&:delay).max || 0.0
          end

          # The rule of most bytes decides; of two as long, the one that allows (§2.2.2).
          # @param target [String] path and query, "/a?b"
          # @return [Boolean]
          def allow?(target)
            return true if target == FILE

            normal = Pattern.normalize(target.b)
            fitting = @rules.select { |pattern, _| pattern.match?(normal) }
            best = fitting.max_by { |pattern, allowed| [pattern.size, allowed ? 1 : 0] }
            best.nil? || best.last
          end

          # @return [Boolean]
          def unreachable? = @unreachable

          private

          def groups(text)
            text.split(/[\r\n]+/n).each_with_object([]) do |line, groups|
              name, colon, value = line.sub(/#.*/n, "").partition(":").map(&:strip) # whatever a line has: in linear time
              read(name.downcase, value, groups) unless colon.empty?
            end
          end

          # Lines for agents that follow one another open one group; other fields than these don't part them.
          def read(name, value, groups)
            case name
            when "user-agent" then group(groups).agents << value[/\A(?:[A-Za-z_-]+|\*)/n].to_s.downcase
            when "allow", "disallow" then rule(groups.last, value, name == "allow")
            when "crawl-delay" then slow_down(groups.last, value)
            end
          end

          def group(groups)
            last = groups.last
            return last if last && !last.closed

            Group.new([], [], nil, false).tap { |group| groups << group }
          end

          # A rule without a path forbids nothing.
          def rule(group, value, allowed)
            return unless group

            group.closed = true
            group.rules << [Pattern.new(value), allowed] unless value.empty?
          end

          def slow_down(group, value)
            return unless group && value.match?(/\A\d{1,6}(\.\d+)?\z/n)

            group.closed = true
            group.delay = [value.to_f, LONGEST_DELAY].min
          end

          # Those that name the crawler, together; else those for all.
          def choose(groups, agent)
            named = groups.select { |group| group.agents.include?(agent) }
            named.any? ? named : groups.select { |group| group.agents.include?("*") }
          end
        end
      end
    end
  end
end
