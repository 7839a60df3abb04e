# frozen_string_literal: true

require_relative "support/contest"

Bench::Harness.define("computing-64") do |bench|
  bench.title "1 ms of computing in the app, 64 connections kept alive"
  bench.sizes connections: 64, seconds: [2, 1]
  contest = Bench::Server::Contest.new(bench, app: "computing")
  bench.goal metric: "cpu_us_per_request", against: "puma", at_most: 1.0
  contest.all :hybrid, :threads, :fibers
end

Bench::Harness.define("large-64") do |bench|
  bench.title "A body of 1 MB, 64 connections kept alive"
  bench.sizes connections: 64, seconds: [2, 1]
  contest = Bench::Server::Contest.new(bench, app: "large")
  bench.goal metric: "cpu_us_per_request", against: "iodine", at_most: 1.0
  contest.all :fibers, :threads
end

Bench::Harness.define("rails-64") do |bench|
  bench.title "Hello world of a Rails app, 64 connections kept alive"
  bench.sizes connections: 64, seconds: [2, 1]
  contest = Bench::Server::Contest.new(bench, app: "rails", gems: %w[railties])
  bench.goal metric: "cpu_us_per_request", against: "puma", at_most: 0.6
  %w[threads fibers].each { |way| bench.goal metric: "cpu_us_per_request", of: "plait, #{way}", against: "puma", at_most: 0.6 }
  contest.plait :hybrid
  contest.also :threads, :fibers
  contest.peer "puma", 5
  contest.peer "falcon", 1
end

# Beside servers with 64 threads.
{ 64 => "64", 1_000 => "1,000" }.each do |connections, words|
  Bench::Harness.define("waiting-#{connections}") do |bench|
    bench.title "3 ms of waiting in the app, #{words} connections kept alive"
    bench.sizes connections: connections, seconds: [2, 1]
    contest = Bench::Server::Contest.new(bench, app: "waiting")
    bench.goal metric: "cpu_us_per_request", against: "puma, 64 threads", at_most: 0.15
    bench.goal metric: "requests_per_s", against: "puma, 64 threads", at_least: 3
    contest.plait :fibers
    contest.also :threads, :hybrid
    %w[puma iodine].each { |peer| contest.peer peer, 64, row: "#{peer}, 64 threads" }
    contest.peer "itsi", 64, row: "itsi, 64 threads", gem: "itsi-server"
    contest.peer "falcon", 1
  end
end
