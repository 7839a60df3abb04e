# frozen_string_literal: true

# async 2.24, the newest for Ruby 3.1, asks for it in the hook in which drivers wait; Ruby has it from 3.2 on.
IO.define_method(:timeout) { nil } unless IO.method_defined?(:timeout)

require "async"
require "async/http/endpoint"
require "async/semaphore"
require "falcon"
require_relative "app"
require_relative "pooled"

_, url, size, seconds, port = ARGV
app = App.build(url, seconds, &Pooled.value(url, Integer(size)))
endpoint = Async::HTTP::Endpoint.parse("http://127.0.0.1:#{port}", backlog: 4096)
# As many requests in the app as there are connections, as with Plait and puma: falcon itself has no such limit.
gate = Async::Semaphore.new(Integer(size))
bounded = ->(env) { gate.acquire { app.call(env) } }
middleware = Falcon::Server.middleware(bounded, cache: false) # else it answers one request and remembers that for all others
Async { Falcon::Server.new(middleware, endpoint).run }
