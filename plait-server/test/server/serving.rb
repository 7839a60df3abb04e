# frozen_string_literal: true

require "socket"
require "stringio"
require "plait/server"
require_relative "caller"

# Serves an app on a port of its own for the length of a block.
module Serving
  # What the app has complained of is in `@errors`, the server in `@server`.
  # @yieldparam caller [Caller] connected
  def serving(mechanism, app, **options)
    @errors = StringIO.new
    complaining = ->(env) { app.call(env.merge!("rack.errors" => @errors)) }
    @server = Plait::Server.new(complaining, on: mechanism, bind: "tcp://127.0.0.1:0", **options)
    thread = @server.start
    caller = connect
    yield caller
    caller.close
  ensure
    @server.stop(within: 5)
    thread.join
  end

  def connect = Caller.new(TCPSocket.new("127.0.0.1", @server.endpoints.first.port))
end
