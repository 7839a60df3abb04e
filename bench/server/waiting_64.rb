# frozen_string_literal: true

require_relative "support/waiting"

Bench::Harness.define("waiting-64") do |bench|
  bench.title "3 ms of waiting in the app, 64 connections kept alive"
  bench.size :connections, full: 64
  Bench::Server::Waiting.compete(bench)
end
