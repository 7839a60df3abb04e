# frozen_string_literal: true

require_relative "support/contest"

# The goals are ratios of CPU time in one run, from the issue.
{
  "set-p1" => ["SET", 1, 64, 100_000, 0.72], "get-p1" => ["GET", 1, 64, 100_000, 0.72],
  "set-p16" => ["SET", 16, 64, 800_000, 0.30], "get-p16" => ["GET", 16, 64, 800_000, 0.28],
  "set-32k" => ["SET", 1, 32_768, 30_000, 0.75], "get-32k" => ["GET", 1, 32_768, 30_000, 0.65]
}.each do |name, (verb, pipeline, bytes, count, goal)|
  Bench::Harness.define(name) do |bench|
    bench.title "#{verb} of #{bytes} bytes, 50 clients, pipeline #{pipeline}"
    bench.sizes requests: [count, count / 10]
    bench.metrics(*Bench::Shard::Contest::METRICS)
    bench.goal metric: "cpu_us_per_request", against: "nutcracker", at_most: goal
    words = [verb, "key:__rand_int__", *("x" * bytes if verb == "SET")]
    Bench::Shard::Contest.new(bench, words, pipeline: pipeline, value: bytes).all
  end
end
