# frozen_string_literal: true

# bin/bench http: the HTTP client against its peers and a client in C, beside one nginx on the other core.

require_relative "../harness"
require_relative "support/nginx"

begin
  Bench::HTTP::Nginx.open do |site|
    site.publish
    exit(Bench::Harness::Command.run(__dir__))
  end
rescue Bench::HTTP::Nginx::StartError => e
  warn("bin/bench http: #{e.message}")
  exit(69)
end
