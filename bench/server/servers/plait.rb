# frozen_string_literal: true

require "plait"
require_relative "app"

app, mechanism, port = ARGV
limit = { threads: app == "waiting" ? 64 : 5 }[mechanism.to_sym]
server = Plait::Server.new(APPS.fetch(app), on: mechanism.to_sym, limit: limit)
tls = { certificate: ENV.fetch("BENCH_CERTIFICATE"), key: ENV.fetch("BENCH_KEY") } if ENV.key?("BENCH_KEY")
server.listen("#{tls ? "ssl" : "tcp"}://127.0.0.1:#{port}", tls: tls)
server.run
