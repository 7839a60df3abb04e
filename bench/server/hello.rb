# frozen_string_literal: true

require_relative "support/contest"
require_relative "support/h2load"

# A browser sends these fields, next to Host and Connection.
BROWSER = ["User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
           "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/webp,*/*;q=0.8",
           "Accept-Language: en-US,en;q=0.5", "Accept-Encoding: gzip, deflate, br", "Upgrade-Insecure-Requests: 1",
           "Cookie: session=0123456789abcdef; theme=dark", "Sec-Fetch-Dest: document", "Sec-Fetch-Mode: navigate",
           "Sec-Fetch-Site: none", "Cache-Control: max-age=0"].freeze

{ 64 => "64", 1_000 => "1,000" }.each do |connections, words|
  Bench::Harness.define("hello-#{connections}") do |bench|
    bench.title "Hello world, #{words} connections kept alive"
    bench.sizes connections: connections, seconds: [2, 1]
    contest = Bench::Server::Contest.new(bench)
    bench.goal metric: "user_us_per_request", against: "iodine", at_most: 0.45
    bench.goal metric: "cpu_us_per_request", against: "iodine", at_most: 0.62
    bench.goal metric: "cpu_us_per_request", of: "plait, threads", against: "iodine", at_most: 0.65
    bench.goal metric: "cpu_us_per_request", against: "puma", at_most: 0.12
    contest.all :fibers, :threads, :hybrid
    contest.floor
  end
end

Bench::Harness.define("hosts-64") do |bench|
  bench.title "Hello world, two names of the server in turns, 64 connections kept alive"
  bench.sizes connections: 64, seconds: [2, 1]
  contest = Bench::Server::Contest.new(bench, hosts: %w[example.com www.example.org])
  bench.goal metric: "cpu_us_per_request", against: "plait, one name", at_most: 1.05
  contest.plait :fibers
  contest.also :fibers, row: "plait, one name", hosts: %w[example.com]
  contest.peer "puma", 5
end

Bench::Harness.define("pieces-64") do |bench|
  bench.title "Hello world from a body with each, 64 connections kept alive"
  bench.sizes connections: 64, seconds: [2, 1]
  contest = Bench::Server::Contest.new(bench, app: "pieces")
  bench.goal metric: "cpu_us_per_request", against: "plait, an Array", at_most: 1.6
  contest.plait :fibers
  contest.also :fibers, row: "plait, an Array", app: "hello"
  contest.peers
end

Bench::Harness.define("hello-10000") do |bench|
  bench.title "Hello world, 10,000 connections kept alive"
  bench.sizes connections: 10_000, seconds: [4, 2]
  contest = Bench::Server::Contest.new(bench)
  bench.goal metric: "cpu_us_per_request", against: "iodine", at_most: 0.65
  bench.goal metric: "p99_ms", against: "iodine", at_most: 0.7
  contest.all :fibers, :threads
  contest.floor
end

Bench::Harness.define("closing-64") do |bench|
  bench.title "Hello world, 64 at once, a connection for each request"
  bench.sizes connections: 64, seconds: [2, 1]
  contest = Bench::Server::Contest.new(bench, close: true)
  bench.goal metric: "cpu_us_per_request", against: "iodine", at_most: 0.55
  contest.all :fibers, :threads
  contest.floor
end

{ "hello-tls-64" => false, "closing-tls-64" => true }.each do |name, close|
  Bench::Harness.define(name) do |bench|
    bench.title "Hello world by TLS, 64 #{close ? "at once, a connection for each request" : "connections kept alive"}"
    bench.sizes connections: 64, seconds: [2, 1]
    contest = Bench::Server::Contest.new(bench, tls: true, close: close)
    bench.goal metric: "cpu_us_per_request", against: "puma", at_most: close ? 0.8 : 0.34
    contest.plait :fibers
    contest.also :threads, :hybrid
    contest.peer "puma", 5
  end
end

Bench::Harness.define("http2-16") do |bench|
  bench.title "Hello world by HTTP/2 to the 12 fields of a browser, 16 at once on one connection"
  bench.sizes connections: 1, seconds: [2, 1]
  contest = Bench::Server::Contest.new(bench, generator: Bench::Server::H2load, tls: true, streams: 16, fields: BROWSER)
  bench.goal metric: "cpu_us_per_request", at_most: 120
  bench.goal metric: "cpu_us_per_request", against: "falcon", at_most: 0.296 # 120 of its 405
  contest.plait :fibers
  contest.also :threads
  contest.peer "falcon", 1
end

Bench::Harness.define("ab-64") do |bench|
  bench.title "Hello world, 64 connections kept alive, by ab: HTTP/1.0"
  bench.sizes connections: 64, seconds: [2, 1]
  contest = Bench::Server::Contest.new(bench, generator: Bench::Server::Ab)
  bench.goal metric: "cpu_us_per_request", against: "iodine", at_most: 0.55
  contest.all :fibers, :threads
end

Bench::Harness.define("browser-64") do |bench|
  bench.title "Hello world to the 12 fields of a browser, 64 connections kept alive"
  bench.sizes connections: 64, seconds: [2, 1]
  contest = Bench::Server::Contest.new(bench, fields: ["Connection: keep-alive", *BROWSER])
  bench.goal metric: "cpu_us_per_request", against: "iodine", at_most: 0.6
  contest.plait :fibers
  contest.also :threads
  contest.peer "iodine", 1
  contest.peer "puma", 5
end
