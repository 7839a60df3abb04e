# frozen_string_literal: true

require "puma"
require "puma/server"
require "puma/minissl"
require_relative "app"

app, threads, port = ARGV
server = Puma::Server.new(APPS.fetch(app), nil, min_threads: Integer(threads), max_threads: Integer(threads), log_writer: Puma::LogWriter.null)
if ENV.key?("BENCH_KEY")
  context = Puma::MiniSSL::Context.new
  context.cert = ENV.fetch("BENCH_CERTIFICATE")
  context.key = ENV.fetch("BENCH_KEY")
  server.add_ssl_listener("127.0.0.1", Integer(port), context, true, 4096)
else
  server.add_tcp_listener("127.0.0.1", Integer(port), true, 4096)
end
server.run.join
