# frozen_string_literal: true

# bin/bench databases: the pool of connections against its peer.

require_relative "../harness"

FILES = Dir[File.join(__dir__, "*.rb")] - [File.expand_path(__FILE__)]

exit(Bench::Harness::Command.new("databases", FILES, ARGV).run)
