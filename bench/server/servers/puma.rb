# frozen_string_literal: true

require "puma"
require "puma/server"
require_relative "app"

app, threads, port = ARGV
server = Puma::Server.new(APPS.fetch(app), nil, min_threads: Integer(threads), max_threads: Integer(threads), log_writer: Puma::LogWriter.null)
server.add_tcp_listener("127.0.0.1", Integer(port), true, 4096)
server.run.join
