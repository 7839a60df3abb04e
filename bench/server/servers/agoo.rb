# frozen_string_literal: true

require "agoo"
require_relative "app"

app, threads, port = ARGV
states = %i[INFO DEBUG connect request response eval push].to_h { |name| [name, false] }
Agoo::Log.configure(dir: "", console: false, states: states)
Agoo::Server.init(Integer(port), "/nonexistent", thread_count: Integer(threads), worker_count: 1)
Agoo::Server.handle(nil, "**", APPS.fetch(app))
Agoo::Server.start
sleep
