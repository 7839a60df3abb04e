# frozen_string_literal: true

module Plait
  module CLI
    # `plait advise`
    class Advise < Command
      PLACE = 15
      USAGE = "advise FILE.rb|CONFIG.RU"
      SUMMARY = "Say which mechanism, with which limit, fits your own Ruby or Rack app"
      ARGUMENTS = (0..1)
      ABOUT = <<~TEXT
        The file is as for plait compare: items { … } and body { |item| … }; --example prints one.

        Plait looks at what one item does. It runs the items under each mechanism and compares the results. Then it tries
        limits, and compares the best rows round by round until the answer is settled or the budget is spent.

        The body runs many times, unless you say --once. Ctrl-C ends it early; Plait shows what it has learned.

        With a config.ru it serves the app on this machine, on threads, fibers and both, in one worker and in several. It
        sends the requests of --paths or --log, and says how many threads and workers to use. The gem plait-server does this.
      TEXT
      OPTIONS = {
        budget: { banner: "SECONDS", default: "60", desc: "the time to spend; it ends earlier when the answer is settled" },
        goal: { banner: "GOAL", default: "throughput", desc: "throughput, latency (of one item) or memory (its peak)" },
        on: { banner: "A,B", desc: "only among these mechanisms, such as threads,processes+fibers" },
        once: { type: :boolean, desc: "run each item once at most, as for mails and INSERTs; results are not compared" },
        paths: { banner: "FILE", desc: "of a config.ru: the requests, a path a line (default: /)" },
        log: { banner: "FILE", desc: "of a config.ru: the requests, from an access log" },
        concurrency: { banner: "N", desc: "of a config.ru: requests at once (default: 16)" },
        rate: { banner: "N", desc: "of a config.ru: requests a second for latencies (default: 70 % of the most)" },
        header: { banner: "LINE", desc: "of a config.ru: a header of each request, such as 'Cookie: session=1'" },
        environment: { banner: "NAME", desc: "of a config.ru: RACK_ENV, and RAILS_ENV where that is not set" },
        "fail-if": { banner: "CONDITION", desc: "exit with 1 if the advised mechanism's p50, p90 or p99 is larger, as in " \
                                                "'p99>50ms'" },
        json: { type: :boolean, desc: "the advice as JSON on standard output, and all else on standard error" },
        example: { type: :boolean, desc: "print a file to start with" },
        quiet: { type: :boolean, desc: "no notices; the advice and errors only" }
      }.freeze
      EXAMPLES = {
        "plait advise work.rb" => "the answer, within a minute",
        "plait advise --example > work.rb" => "a file to start with",
        "plait advise config.ru --log access.log" => "how many threads, how many workers, would fibers help?",
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

      def call
        return example if options["example"]

        require_relative "../cli/consultation"
        Consultation.new(terminal, options).call(words.first || missing_word)
      end

      private

      def example
        terminal.say(EXAMPLE)
        ExitStatus::OK
      end
    end
  end
end
