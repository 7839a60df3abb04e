# frozen_string_literal: true

module Plait
  module CLI
    # The options of the commands that measure.
    module MeasuringOptions
      # The rows.
      CHOICE = {
        on: { banner: "A,B", desc: "only these mechanisms: sequence, threads, fibers, hybrid, processes, ractors, " \
                                   "or two composed, as in processes+fibers" },
        limit: { banner: "1,8,64", desc: "how many may be in flight at once under each mechanism; each is measured" }
      }.freeze

      # The way of measuring, and the reports.
      MANNER = {
        rounds: { banner: "N", desc: "how often each row is measured (default: until more would change no answer, or the " \
                                     "budget is spent); the tables show the median, the least and the most" },
        budget: { banner: "SECONDS",
                  desc: "leave out rounds that would take longer than this; the first is always run (default: 60)" },
        bound: { banner: "SECONDS", default: "120",
                 desc: "how long one trial of one row may take before it counts as hung" },
        seed: { banner: "N", desc: "the rows are run in random order; the same seed gives the same order" },
        json: { banner: "[FILE]", lazy: "-",
                desc: "all figures as JSON; without FILE to standard output, and all else to standard error" },
        csv: { banner: "[FILE]", lazy: "-", desc: "the same as CSV, one line a row" },
        markdown: { banner: "[FILE]", lazy: "-", desc: "the answer and the tables as Markdown, for an issue" },
        html: { banner: "FILE", desc: "tables and plots as one page" },
        quiet: { type: :boolean, desc: "no progress; answers, tables and errors only" }
      }.freeze
    end
  end
end
