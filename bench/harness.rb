# frozen_string_literal: true

require_relative "harness/command"
require_relative "harness/definition"
require_relative "harness/native"

# What every bench of Plait is made of. A subject's folder holds one file a case; its `run.rb` hands them over to
# {Bench::Harness::Command}.
module Bench
  module Harness
  end
end
