# frozen_string_literal: true

ENV["LANG"] ||= "C.UTF-8"

# Of any gem in the bundle: that of Rails loads a good part of it.
ENV["MT_NO_PLUGINS"] ||= "1"

require_relative "support/coverage" if ENV["COVERAGE"] == "1"

# Before anything of ours is loaded, so that what the parser has to say about our files is heard.
$VERBOSE = true
require_relative "support/warnings"

require_relative "support/root"
$LOAD_PATH.unshift(*Support::LIBS)

require "minitest/autorun"
require "plait"

require_relative "support/fibers"
require_relative "support/waiting"
require_relative "support/leaks"
require_relative "support/ports"
require_relative "support/hard_timeout"
require_relative "support/tally" if ENV["PLAIT_TALLY"]

module Minitest
  class Test
    include Support::Fibers
    include Support::Waiting
    include Support::Leaks
    include Support::Ports
    include Support::Warnings
    prepend Support::HardTimeout
  end
end
