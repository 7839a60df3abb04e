# frozen_string_literal: true

# bin/bench server: the Rack server against its peers and a server in C, under wrk on the other core.

require_relative "../harness"
require_relative "support/wrk"

unless Bench::Server::Wrk::PROGRAM
  warn("bin/bench server: wrk is needed: sudo apt-get install -y wrk")
  exit(69)
end

# Before anything is timed.
Dir[File.join(__dir__, "*.c")].each { |source| Bench::Harness::Native.build(source) }
files = Dir[File.join(__dir__, "*.rb")] - [File.expand_path(__FILE__)]
exit(Bench::Harness::Command.new("server", files, ARGV).run)
