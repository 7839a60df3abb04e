# frozen_string_literal: true

require "json"
require_relative "../lab"
require_relative "../mechanisms"
require_relative "../sibling"
require_relative "../suites/common/user_file"

module Plait
  module CLI
    # A run of `plait advise`: from a file and options to an advice and an exit status.
    class Consultation
      CONDITION = /\Ap(?<percent>50|90|99)\s*>\s*(?<number>\d+(?:\.\d+)?)\s*(?<unit>ms|s)\z/
      # Options of a config.ru.
      OF_APPS = %w[paths log concurrency rate header environment].freeze

      # @param options [Hash] by option name, as Strings
      def initialize(terminal, options)
        @terminal = terminal
        @options = options
      end

      # @return [Integer] an exit status
      # @raise [UsageError] before anything was run
      def call(path)
        terminal.reserve_output if options["json"]
        check_options(path)
        wanted = settings
        condition = limit_of_latency
        return conclude(of_app(path, wanted), condition) if path.end_with?(".ru")

        workload = Suites::UserFile.load(path, on: [:sequence])
        conclude(answer(workload, wanted), condition)
      end

      private

      attr_reader :terminal, :options

      # What would have no effect is refused.
      def check_options(path)
        return check_app_options if path.end_with?(".ru")

        option = OF_APPS.find { |name| options[name] } or return
        raise UsageError, "--#{option} is for a config.ru, and #{path} is none"
      end

      def check_app_options
        raise UsageError, "--once: a config.ru is served for some time, and each path is asked over and over" if options["once"]
        return if goal == :throughput

        raise UsageError, "--goal #{goal}: a config.ru is advised for throughput; --rate and --fail-if are about latency"
      end

      def settings
        { budget: Arguments.positive("--budget", options["budget"].to_s.delete_suffix("s")), goal: goal,
          once: options["once"] || false,
          among: options["on"] && Arguments.mechanisms("--on", options["on"], Mechanisms.names) }
      end

      # @return [Object] with what {#conclude} asks of an advice
      def of_app(path, wanted)
        Sibling.load("cli/serve/consultation")
        CLI.const_get(:Serve)::Consultation.new(terminal, options).call(path, budget: wanted[:budget], among: wanted[:among])
      end

      def goal
        name = options["goal"].to_s
        return name.to_sym if %w[throughput latency memory].include?(name)

        raise UsageError, "--goal #{name}: must be throughput, latency or memory"
      end

      # @return [Array(Integer, Float), nil] percent and seconds
      def limit_of_latency
        text = options["fail-if"] or return
        found = CONDITION.match(text)
        raise UsageError, "--fail-if #{text}: must be as in 'p99>50ms'; p50, p90 and p99 are known" unless found

        [found[:percent].to_i, found[:number].to_f / (found[:unit] == "ms" ? 1000 : 1)]
      end

      def answer(workload, settings)
        cell = workload.cells.first
        terminal.note(announcement(cell.items.size, settings))
        advice = nil
        workload.around do
          advice = Plait::Lab.advise(cell.items, digest: cell.digest, note: ->(what) { terminal.note("  #{what}") },
                                                 **settings, &cell.body)
        end
        advice
      end

      def announcement(items, settings)
        return "each of #{items} items runs once at most, for #{settings[:budget].round(1)} s at most" if settings[:once]

        "the body runs over and over for up to #{settings[:budget].round(1)} s, hundreds of times for each of #{items} items; " \
          "--once runs each item once at most"
      end

      def conclude(advice, condition)
        terminal.say(advice.to_s)
        terminal.data("#{JSON.pretty_generate(advice.to_h)}\n") if options["json"]
        return ExitStatus::INTERRUPTED if advice.interrupted?
        return ExitStatus::FAILED unless advice.on

        condition ? judge(advice, *condition) : ExitStatus::OK
      end

      def judge(advice, percent, seconds)
        found = advice.latency(percent)
        return ExitStatus::OK if found && found <= seconds

        known = found ? "is #{(found * 1000).round(1)} ms" : "can't be known from so few items"
        raise Error, "p#{percent} #{known}, and --fail-if allows #{(seconds * 1000).round(1)} ms"
      end
    end
  end
end
