# frozen_string_literal: true

require_relative "../campaign"
require_relative "../command"
require_relative "../../suites"
require_relative "../../values/errors"

module Plait
  module CLI
    class Compare < Command
      # Measures a user's own file.
      class FileCampaign < Campaign
        private

        def workloads
          [Suites::UserFile.load(words.first, on: mechanisms, limits: limits)]
        rescue SystemExit
          raise UsageError, "#{words.first} calls exit, so there is nothing to measure"
        end
      end
    end
  end
end
