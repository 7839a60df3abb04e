# frozen_string_literal: true

# The first: with Plait loaded it would have all suites loaded as well, which is no part of such a server's memory.
require "plait/suites/databases/thread_per_connection"
require "plait"
require_relative "app"

_, url, size, seconds, port = ARGV
db = Plait::DB.connect(url, size: Integer(size), timeout: nil)
app = App.build(url, seconds) { |sql| db.query(sql).value }
Plait::Suites::Databases::ThreadPerConnection.new(app, port: Integer(port)).run
