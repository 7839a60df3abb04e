# frozen_string_literal: true

require "iodine"
require_relative "app"

app, threads, port = ARGV
Iodine.threads = Integer(threads)
Iodine.workers = 1
Iodine.verbosity = 0
Iodine.listen(service: :http, handler: APPS.fetch(app), port: port, address: "127.0.0.1")
Iodine.start
