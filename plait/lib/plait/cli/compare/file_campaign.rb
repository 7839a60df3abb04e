# frozen_string_literal: true

require_relative "../arguments"
require_relative "../campaign"
require_relative "../command"
require_relative "../../mechanisms"
require_relative "../../suites/common/user_file"
require_relative "../../values/errors"

module Plait
  module CLI
    class Compare < Command
      # Measures a user's own file.
      class FileCampaign < Campaign
        private

        # The body may be a job.
        def mechanisms = given("on") { |text| Arguments.mechanisms("--on", text, Mechanisms.names_for_jobs) }

        def workloads
          workload = Suites::UserFile.load(words.first, on: mechanisms, limits: limits)
          return [workload] unless terminal.closed?

          raise UsageError, "#{words.first} closes standard output or standard error; " \
                            "point them elsewhere with `reopen`"
        end

        # Times and random numbers are no mistake.
        def remedy
          "If they must, say in #{words.first} what has to be equal, as in digest { |results| results.size }"
        end
      end
    end
  end
end
