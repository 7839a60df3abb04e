# frozen_string_literal: true

require_relative "../values/errors"
require_relative "../cli/command"
require_relative "../cli/exit_status"

module Plait
  module CLI
    # `plait advise`
    class Advise < Command
      PLACE = 15
      USAGE = "advise FILE.rb"
      SUMMARY = "Say which mechanism, with which limit, fits your own Ruby"
      ARGUMENTS = (0..1)
      ABOUT = <<~TEXT
        The file is as for plait compare: items { … } and body { |item| … }; --example prints one.

        Plait looks at what one item does. It runs the items under each mechanism and compares the results. Then it tries
        limits, and compares the best rows round by round until the answer is settled or the budget is spent.

        The body runs many times, unless you say --once. Ctrl-C ends it early; Plait shows what it has learned.
      TEXT
      OPTIONS = {
        budget: { banner: "SECONDS", default: "60", desc: "the time to spend; it ends earlier when the answer is settled" },
        goal: { banner: "GOAL", default: "throughput", desc: "throughput, latency (of one item) or memory (its peak)" },
        on: { banner: "A,B", desc: "only among these mechanisms, such as threads,processes+fibers" },
        once: { type: :boolean, desc: "run each item once at most, as for mails and INSERTs; results are not compared" },
        "fail-if": { banner: "CONDITION", desc: "exit with 1 if the advised mechanism's p50, p90 or p99 is larger, as in " \
                                                "'p99>50ms'" },
        json: { type: :boolean, desc: "the advice as JSON on standard output, and all else on standard error" },
        example: { type: :boolean, desc: "print a file to start with" },
        quiet: { type: :boolean, desc: "no notices; the advice and errors only" }
      }.freeze
      EXAMPLES = {
        "plait advise work.rb" => "the answer, within a minute",
        "plait advise --example > work.rb" => "a file to start with",
        "plait advise work.rb --once --goal latency" => "no item twice",
        "plait advise work.rb --fail-if 'p99>50ms'" => "for a build: exit with 1 if items are slow"
      }.freeze
      EXAMPLE = <<~RUBY
        # plait advise work.rb

        items { (1..40).to_a }

        body do |number|
          sleep(0.02)
          number * 2
        end
      RUBY
      CONDITION = /\Ap(?<percent>50|90|99)\s*>\s*(?<number>\d+(?:\.\d+)?)\s*(?<unit>ms|s)\z/
      private_constant :EXAMPLE, :CONDITION

      def call
        return example if options["example"]

        load_parts
        terminal.quiet = options["quiet"]
        terminal.reserve_output if options["json"]
        wanted = settings
        condition = limit_of_latency
        workload = Suites::UserFile.load(words.first || missing_word, on: [:sequence])
        answer(workload, wanted).then { |advice| conclude(advice, condition) }
      end

      private

      def example
        terminal.say(EXAMPLE)
        ExitStatus::OK
      end

      def load_parts
        require "json"
        require_relative "../cli/arguments"
        require_relative "../lab"
        require_relative "../mechanisms"
        require_relative "../suites/common/user_file"
      end

      def settings
        { budget: Arguments.positive("--budget", options["budget"].to_s.delete_suffix("s")), goal: goal,
          once: options["once"] || false,
          among: options["on"] && Arguments.mechanisms("--on", options["on"], Mechanisms.names) }
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
