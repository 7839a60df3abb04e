# frozen_string_literal: true

require "plait"
require_relative "app"

way, url, size, seconds, port = ARGV
mechanism, limit = way.split(":")
db = Plait::DB.connect(url, size: Integer(size), timeout: nil)
app = App.build(url, seconds) { |sql| db.query(sql).value }
Plait::Server.new(app, on: mechanism.to_sym, limit: Integer(limit), queue: 20_000, bind: "tcp://127.0.0.1:#{port}").run
