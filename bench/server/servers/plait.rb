# frozen_string_literal: true

require "plait"
require_relative "app"

app, mechanism, port = ARGV
limit = { threads: app == "waiting" ? 64 : 5 }[mechanism.to_sym]
Plait::Server.new(APPS.fetch(app), on: mechanism.to_sym, limit: limit, bind: "tcp://127.0.0.1:#{port}").run
