# frozen_string_literal: true

module Plait
  module CLI
    # Words from the command line, turned into values, or into a {UsageError}: one sentence that names the option.
    module Arguments
      # Float() would take 1e999 for infinity, with a warning of its own.
      NUMBER = /\A[-+]?(\d{1,15}(\.\d*)?|\.\d+)(e[-+]?\d{1,2})?\z/i

      # The largest number an option takes; raising it allows runs that take days.
      MOST = 10_000_000

      JOBS_ONLY = "sidekiq runs jobs, which have a name by which other machines find them, and here blocks are run. To measure " \
                  "a job of yours: plait compare FILE.rb --on sequence,sidekiq, with body(&Plait.job(ThatClass)) in the file"

      module_function

      # @param option [String] as typed, "--rounds", for the message
      # @return [Integer] from 1 to {MOST}
      def count(option, text)
        number = integer(option, text)
        raise UsageError, "#{option} #{text}: must be 1 or more" unless number.positive?
        raise UsageError, "#{option} #{text}: must be #{MOST} at most" if number > MOST

        number
      end

      def integer(option, text)
        Integer(text(option, text).delete("_"), 10)
      rescue ArgumentError
        raise UsageError, "#{option} #{text}: not a whole number"
      end

      # @return [Float] above zero
      def positive(option, text)
        number = float(option, text)
        return number if number.positive?

        raise UsageError, "#{option} #{text}: must be more than 0"
      end

      # @return [Float] zero or more
      def seconds(option, text)
        number = float(option, text)
        return number unless number.negative?

        raise UsageError, "#{option} #{text}: can't be negative"
      end

      def float(option, text)
        return text.to_f if NUMBER.match?(text(option, text))

        raise UsageError, "#{option} #{text}: not a number"
      end

      # @param text [String] "1,8,64"
      # @return [Array<Integer>] each 1 or more, without repetition
      def limits(option, text) = words(option, text).map { |word| count(option, word) }.uniq

      # @param text [String] "threads,processes+fibers"
      # @param known [Array<Symbol>] names of mechanisms
      # @return [Array<Symbol, Array<Symbol>>] a composition is an Array of two
      def mechanisms(option, text, known) = words(option, text).map { |word| mechanism(option, word, known) }.uniq

      # @return [Array<String>] what stands between the commas
      def words(option, text)
        list = text(option, text).split(",").map(&:strip).reject(&:empty?)
        list.empty? ? raise(UsageError, "#{option} needs a value") : list
      end

      # @return [String] not empty
      def text(option, text) = text.to_s.strip.empty? ? raise(UsageError, "#{option} needs a value") : text.to_s.strip

      def mechanism(option, word, known)
        parts = word.delete_prefix(":").split("+").map(&:to_sym)
        parts.each { |part| known.include?(part) || unknown_mechanism(option, part, known) }
        return parts.first if parts.size == 1
        return parts if parts.size == 2

        raise UsageError, "#{option} #{word}: at most two mechanisms compose, as in processes+fibers"
      end

      def unknown_mechanism(option, part, known)
        raise UsageError, "#{option}: #{JOBS_ONLY}" if part == :sidekiq

        raise UnknownMechanism, "#{option}: unknown mechanism \"#{part}\"#{Suggestion.ending(part, known)} " \
                                "The mechanisms are #{known.join(", ")}."
      end
    end
  end
end
