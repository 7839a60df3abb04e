# frozen_string_literal: true

# bin/bench core: the mechanisms and the scheduler against their peers.

require_relative "../harness"

NATIVE = Dir[File.join(__dir__, "*.c")]
FILES = Dir[File.join(__dir__, "*.rb")] - [File.expand_path(__FILE__)]

# Before anything is timed.
NATIVE.each { |source| Bench::Harness::Native.build(source) }
exit(Bench::Harness::Command.new("core", FILES, ARGV).run)
