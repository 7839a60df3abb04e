# frozen_string_literal: true

require "falcon/rackup/handler"
require_relative "app"

app, _threads, port = ARGV
Falcon::Rackup::Handler.run(APPS.fetch(app), Host: "127.0.0.1", Port: port)
