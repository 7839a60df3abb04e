# frozen_string_literal: true

require "simplecov"

# bin/test runs each test file in a process of its own: a name each, so that their results are merged.
SimpleCov.command_name("tests #{Process.pid}")
SimpleCov.start do
  enable_coverage :branch
  add_filter "/test/"
  add_filter "/vendor/"
  track_files "plait*/lib/**/*.rb"
  merge_timeout 3600
end
