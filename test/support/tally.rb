# frozen_string_literal: true

require "json"

module Support
  # Writes what became of the tests of this process to the file that PLAIT_TALLY names, for bin/test to add up.
  class Tally < Minitest::StatisticsReporter
    def report
      super
      skipped = results.select(&:skipped?).map { |result| ["#{result.klass}##{result.name}", result.failure.message] }
      File.write(ENV.fetch("PLAIT_TALLY"), JSON.generate(run: count, failed: failures + errors, skipped: skipped))
    end
  end
end

module Minitest
  def self.plugin_tally_init(_options) = reporter << Support::Tally.new
end

Minitest.extensions << "tally"
