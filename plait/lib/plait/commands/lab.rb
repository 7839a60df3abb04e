# frozen_string_literal: true

require_relative "../cli/measuring_options"
require_relative "../parts"

module Plait
  module CLI
    # `plait lab`
    class Lab < Command
      PLACE = 10
      USAGE = "lab [SUITE]"
      SUMMARY = "Run the same Ruby under every mechanism, side by side, and compare"
      # Read off the names of files: no suite is loaded for them.
      SUITES = Parts.new("suites").names.freeze
      ABOUT = <<~TEXT.freeze
        Measures a suite, or "all": work that waits and work that computes, in smaller sizes, in a few minutes. It says
        which mechanism to use for each, how much faster that is, and how sure. The suites are #{SUITES.join(", ")};
        plait help lab SUITE tells what a suite measures and which options it takes.

        Every row, one mechanism with one limit, is run in a fresh process, several times, in random order. The results
        must be the same everywhere before any speed is shown. Ctrl-C ends it early; what was measured by then is shown
        and saved.

        plait lab report FILE.json shows what --json has written: the answer, the page, or Markdown. plait lab diff A.json
        B.json compares two such files row by row.
      TEXT
      ARGUMENTS = (0..3)
      # Words that are no suite, for what was measured before, and how many files follow each.
      SAVED = { "report" => 1, "diff" => 2 }.freeze

      OPTIONS = {
        **MeasuringOptions::CHOICE,
        scale: { banner: "X", desc: "the size of the work, 1 for the full one (default: 1; for \"all\" a part of it)" },
        requests: { banner: "N", desc: "how many requests or queries" },
        latency: { banner: "SECONDS[,…]", desc: "how long the server takes to answer, a table for each" },
        url: { banner: "URL", desc: "measure against this server instead of the suite's own" },
        full: { type: :boolean, desc: "more items, and more of them in flight" },
        sizes: { banner: "MB[,…]", desc: "how large the answers are" },
        **MeasuringOptions::MANNER,
        html: { banner: "FILE", default: "plait-report.html", desc: "tables and plots as one page; --no-html for none" },
        tables: { type: :boolean, desc: "all figures after the answer, and count what is allocated" },
        rounds: { banner: "N", alias: "--trials",
                  desc: "or --trials: how often each row is measured (default: until settled); " \
                        "the tables show the median, the least and the most" }
      }.freeze
      EXAMPLES = {
        "plait lab" => "everything, a few minutes",
        "plait lab waiting --tables" => "one suite, with all figures",
        "plait lab computing --on sequence,processes,ractors --json" => "some mechanisms; the figures for a program",
        "plait lab report figures.json --markdown" => "what was measured before, for an issue",
        "plait lab diff before.json after.json" => "each row, before and after a change"
      }.freeze

      # @param topic [String, nil] a suite
      # @return [Hash{Symbol => Object}] see {Command.manual}
      def self.manual(topic = nil)
        return super unless SUITES.include?(topic)

        require_relative "../suites"
        suite = Suites.fetch(topic)
        options = OPTIONS.select { |name, _| suite.takes?(name) }
                         .to_h { |name, settings| [name, { **settings, desc: suite.options.fetch(name, settings[:desc]) }] }
        { usage: "lab #{topic}", about: "#{suite.title}: #{suite.summary}.\n\nIts own options are below; plait help lab " \
                                        "lists the options of every suite.", options: options, examples: suite.examples }
      end

      def call
        return saved if SAVED.key?(words.first)

        require_relative "../cli/lab/suite_campaign"
        SuiteCampaign.new(terminal, words, options).call
      end

      private

      def saved
        require_relative "../cli/lab/saved"
        Saved.new(terminal, words, options).call
      end

      # A suite stands alone; files follow the other words.
      def most_words = SAVED.key?(words.first) ? super : 1
    end
  end
end
