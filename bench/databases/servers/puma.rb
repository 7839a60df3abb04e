# frozen_string_literal: true

require "puma"
require "puma/server"
require_relative "app"
require_relative "pooled"

_, url, size, seconds, port = ARGV
app = App.build(url, seconds, &Pooled.value(url, Integer(size)))
server = Puma::Server.new(app, nil, min_threads: Integer(size), max_threads: Integer(size), log_writer: Puma::LogWriter.null)
server.add_tcp_listener("127.0.0.1", Integer(port), true, 4096)
server.run.join
