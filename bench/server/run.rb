# frozen_string_literal: true

# bin/bench server: the Rack server against its peers and a server in C, under wrk on the other core.

require_relative "../harness"
require_relative "support/wrk"

unless Bench::Server::Wrk::PROGRAM
  warn("bin/bench server: wrk is needed: sudo apt-get install -y wrk")
  exit(69)
end

exit(Bench::Harness::Command.run(__dir__))
