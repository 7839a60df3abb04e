# frozen_string_literal: true

# bin/bench http: the HTTP client against its peers and a client in C, beside one nginx on the other core.

require_relative "../harness"
require_relative "support/nginx"

NATIVE = Dir[File.join(__dir__, "*.c")]
FILES = Dir[File.join(__dir__, "*.rb")] - [File.expand_path(__FILE__)]

# Before anything is timed.
NATIVE.each { |source| Bench::Harness::Native.build(source) }
begin
  Bench::HTTP::Nginx.open do |site|
    site.publish
    exit(Bench::Harness::Command.new("http", FILES, ARGV).run)
  end
rescue Bench::HTTP::Nginx::StartError => e
  warn("bin/bench http: #{e.message}")
  exit(69)
end
