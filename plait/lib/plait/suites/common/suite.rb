# frozen_string_literal: true

module Plait
  module Suites
    # A subject with its ready-made workloads.
    class Suite
      # Where it stands among the others: smaller ones are run first.
      PLACE = 50
      # Measured only when it is named, because it needs servers.
      APART = false
      # Seconds after which no further round begins, where the suite is run alone and no number of rounds is named.
      BUDGET = nil
      # Seconds at most, where it is run among the others.
      BRIEF_BUDGET = Float::INFINITY
      # Options of `plait lab` by name, with a text where this suite has more to say of one than its help.
      OPTIONS = {}.freeze
      # A command line => one line.
      EXAMPLES = {}.freeze

      # The constants as methods. A subclass has its NAME on the command line, its TITLE, a heading, and its SUMMARY, a sentence.
      { place: :PLACE, apart?: :APART, budget: :BUDGET, options: :OPTIONS, examples: :EXAMPLES, name: :NAME, title: :TITLE,
        summary: :SUMMARY }.each { |reader, constant| define_method(reader) { self.class.const_get(constant) } }

      # One set of options fits all suites: each takes what it knows and ignores the rest; nil stands for its default.
      # @param brief [Boolean] smaller sizes where nothing else is said, so that all suites together take minutes
      # @return [Array<Lab::Workload>] ready to be measured, each on its own
      # @raise [UsageError] when an option's value makes no sense
      def workloads(brief: false, **options)
        sizes = brief ? self.class::BRIEF : {}
        build(**sizes, **options.compact)
      end

      # @param option [Symbol] of the command line: --limit gives `limits`
      # @return [Boolean] whether it has an effect on this suite: `build` names it
      def takes?(option) = method(:build).parameters.intersect?([[:key, option], [:key, :"#{option}s"]])

      private

      # A subclass names the options that it takes.
      def build(**) = raise(NotImplementedError, "#{self.class}#build")

      # @param on [Array<Symbol, Array<Symbol>>, nil] keeps only these mechanisms
      def only(cells, on)
        return cells unless on

        kept = cells.select { |cell| on.include?(cell.on) }
        return kept unless kept.empty?

        raise UsageError, "the suite #{name} has no row on #{typed(on)}, only on #{typed(cells.map(&:on).uniq)}"
      end

      # In the form of the command line.
      def typed(mechanisms) = mechanisms.map { |one| Array(one).join("+") }.join(", ")

      # @return [Numeric] the size of the work, 1 for the full one
      def check_scale(value) = check("scale", value, "a number above 0") { |one| one.is_a?(Numeric) && one.positive? }

      def check_whole(option, value)
        check(option, value, "a whole number from 1 up") { |one| one.is_a?(Integer) && one.positive? }
      end

      def check_seconds(option, value)
        check(option, value, "a number of seconds from 0 up") { |one| one.is_a?(Numeric) && !one.negative? }
      end

      def check(option, value, expected)
        yield(value) or raise UsageError, "#{option} must be #{expected}, not #{value.inspect}"
        value
      end
    end

    # The origin does not answer; the message says what to do.
    class UnreachableOrigin < Error; end
  end
end
