# frozen_string_literal: true

require_relative "support/contest"

Bench::Harness.define("browser-64") do |bench|
  bench.title "Hello world to the 12 fields of a browser, 64 connections kept alive"
  bench.size :connections, full: 64
  bench.size :seconds, full: 2, quick: 1
  fields = { "User-Agent" => "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
             "Accept" => "text/html,application/xhtml+xml,application/xml;q=0.9,image/webp,*/*;q=0.8",
             "Accept-Language" => "en-US,en;q=0.5", "Accept-Encoding" => "gzip, deflate, br", "Connection" => "keep-alive",
             "Cookie" => "session=0123456789abcdef; theme=dark", "Upgrade-Insecure-Requests" => "1",
             "Sec-Fetch-Dest" => "document", "Sec-Fetch-Mode" => "navigate", "Sec-Fetch-Site" => "none",
             "Cache-Control" => "max-age=0" }
  contest = Bench::Server::Contest.new(bench, fields: fields.map { |field| field.join(": ") })
  bench.goal metric: "cpu_us_per_request", against: "iodine", at_most: 0.6
  contest.plait :fibers
  contest.also :threads
  contest.peer "iodine", 1
  contest.peer "puma", 5
end
