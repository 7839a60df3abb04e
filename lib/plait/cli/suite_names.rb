# frozen_string_literal: true

module Plait
  module CLI
    # The words for what `plait lab` measures; said here, so that nobody has to load the suites to know them.
    module SuiteNames
      # Every suite, one after the other.
      ALL = "all"
      WORDS = ["waiting", "computing", "http", "rpc", "databases", "shard", ALL].freeze
    end
  end
end
