# frozen_string_literal: true

require_relative "support/waiting"

Bench::Harness.define("waiting-1000") do |bench|
  bench.title "3 ms of waiting in the app, 1,000 connections kept alive"
  bench.size :connections, full: 1_000
  Bench::Server::Waiting.compete(bench)
end
