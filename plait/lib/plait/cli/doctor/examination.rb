# frozen_string_literal: true

require "json"
require_relative "limits"
require_relative "machine"
require_relative "optional_gems"
require_relative "ruby"

module Plait
  module CLI
    class Doctor < Command
      # The checks as lines for a terminal, grouped, each with its hint under it.
      class Sheet
        MARKS = { ok: ["✓", :green], limited: ["!", :yellow], missing: ["✗", :dim], unknown: ["?", :dim] }.freeze
        NARROWEST = 30

        def initialize(checks, terminal)
          @checks = checks
          @terminal = terminal
          @names = checks.map { |check| check.name.size }.max
        end

        def lines = [*@checks.group_by(&:group).flat_map { |group, checks| section(group, checks) }, summary]

        private

        def section(group, checks) = [heading(group), *checks.flat_map { |check| entry(check) }, ""]

        def heading(group) = @terminal.paint(group.capitalize.sub("Jruby", "JRuby"), :bold)

        def entry(check)
          mark, colour = MARKS.fetch(check.status)
          first, *rest = TextTable.wrap(check.text, room)
          ["  #{@terminal.paint(mark, colour)} #{check.name.ljust(@names)}  #{first}",
           *rest.map { |line| margin + line }, *hint(check)]
        end

        # A command is never wrapped: it is there to be copied.
        def hint(check) = check.hint ? [margin + @terminal.paint("→ #{check.hint}", :cyan)] : []

        def margin = " " * (@names + 6)

        def room = [(@terminal.width || 110) - margin.size, NARROWEST].max

        def summary
          limits = @checks.count { |check| check.status == :limited }
          return "Nothing here holds Plait back." if limits.zero?

          "#{limits == 1 ? "One thing holds" : "#{limits} things hold"} Plait back: see the lines marked with \"!\"."
        end
      end

      # All that the doctor looks at.
      class Examination
        # Raised by one when a field changes its meaning or goes.
        SCHEMA = 1
        EXAMINERS = [Ruby, Machine, Limits, KernelFeatures, Ways, OptionalGems, Servers, JRuby].freeze

        def initialize(examiners)
          @examiners = examiners
        end

        def checks = @checks ||= @examiners.flat_map(&:checks)

        # @return [Boolean] whether something holds back
        def limited? = checks.any? { |check| check.status == :limited }

        # @return [Array<String>] for people
        def lines(terminal) = Sheet.new(checks, terminal).lines

        # @return [String] for programs
        def to_json(*)
          record = { schema: SCHEMA, plait: Plait::VERSION, ruby: RUBY_DESCRIPTION, checks: checks.map(&:to_h) }
          "#{JSON.pretty_generate(record)}\n"
        end
      end
    end
  end
end
