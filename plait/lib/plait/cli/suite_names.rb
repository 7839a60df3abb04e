# frozen_string_literal: true

require_relative "../parts"

module Plait
  module CLI
    # The words for what `plait lab` measures, read off the names of files, so that no suite has to be loaded to know them.
    module SuiteNames
      # Every suite, one after the other.
      ALL = "all"
      WORDS = [*Parts.new("suites").names, ALL].freeze
    end
  end
end
