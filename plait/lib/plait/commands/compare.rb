# frozen_string_literal: true

require_relative "../cli/measuring_options"

module Plait
  module CLI
    # `plait compare`
    class Compare < Command
      PLACE = 20
      USAGE = "compare FILE.rb"
      SUMMARY = "Run your own Ruby under the mechanisms you name, and compare"
      ARGUMENTS = (1..1)
      ABOUT = <<~TEXT
        The file is plain Ruby. Only items and body are needed; the rest is optional:

        \u00a0 items { (1..20).to_a }            # the body gets them one after another
        \u00a0 body { |number| sleep(0.1); number * 2 }
        \u00a0 title "doubling"
        \u00a0 unit "numbers"
        \u00a0 setup { require "zlib" }          # once, before all
        \u00a0 teardown { }                      # once, after all
        \u00a0 digest { |results| results.sum }  # has to be equal everywhere; default: the results
        \u00a0 on :threads, :fibers              # default: every mechanism, or --on
        \u00a0 limit 8, 64                       # default: 16 under each mechanism, or --limit

        A job as a body, body(&Plait.job(Thumbnail)), also runs on :sidekiq. Processes of Sidekiq have to run that have
        loaded the class.

        A row is one mechanism with one limit. It runs in a fresh process, several times, in random order. All results must
        be the same before Plait shows any speed. Ctrl-C ends it early; Plait shows and saves the figures so far.
      TEXT
      OPTIONS = { **MeasuringOptions::CHOICE, **MeasuringOptions::MANNER }.freeze
      EXAMPLES = {
        "plait compare work.rb" => "every mechanism",
        "plait compare work.rb --on sequence,threads,fibers --limit 8,64" => "three of them, with two limits",
        "plait compare work.rb --rounds 5 --json figures.json" => "measured more often; the figures for a program"
      }.freeze

      def call
        require_relative "../cli/campaign"
        require_relative "../mechanisms"
        require_relative "../suites/common/user_file"
        # The body may be a job.
        campaign = Campaign.new(terminal, options, mechanisms: Mechanisms.names_for_jobs, remedy: remedy)
        campaign.call { [workload(campaign)] }
      end

      private

      def workload(campaign)
        workload = Suites::UserFile.load(words.first, on: campaign.mechanisms, limits: campaign.limits)
        return workload unless terminal.closed?

        raise UsageError, "#{words.first} closes standard output or standard error; point them elsewhere with `reopen`"
      end

      # Times and random numbers are no mistake.
      def remedy = "If they must, say in #{words.first} what has to be equal, as in digest { |results| results.size }"

      # An option that takes a file has perhaps taken this one.
      def missing_word
        taken = %w[json csv markdown html].find { |name| options[name].to_s.end_with?(".rb") }
        return super unless taken

        raise UsageError, "--#{taken} has taken #{options[taken]}, so no FILE.rb is left: put it first, " \
                          "as in plait compare #{options[taken]} --#{taken}"
      end
    end
  end
end
