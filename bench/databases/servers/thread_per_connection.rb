# frozen_string_literal: true

require "plait"
require_relative "../support/thread_per_connection"
require_relative "app"

_, url, size, seconds, port = ARGV
db = Plait::DB.connect(url, size: Integer(size), timeout: nil)
app = App.build(url, seconds) { |sql| db.query(sql).value }
Bench::ThreadPerConnection.new(app, port: Integer(port)).run
