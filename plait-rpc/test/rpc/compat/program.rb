# frozen_string_literal: true

# A program written for the gem msgpack-rpc: ruby program.rb FEATURE. What it prints is the same with either one.

require ARGV.fetch(0)
require "socket"

$stdout.sync = true
RPC = MessagePack::RPC

class Service
  def initialize(server)
    @server = server
    @seen = []
  end

  attr_reader :seen

  def hello = "ok"

  def sum(first, second) = first + second

  def echo(*values) = values

  def note(word) = @seen << word

  def fails = raise("raised")

  def early
    yield "early"
    @seen << "later"
    "not this"
  end

  def later
    answer = RPC::AsyncResult.new
    Thread.new { sleep(0.1).then { answer.result("in time") } }
    answer
  end

  def fails_later
    answer = RPC::AsyncResult.new
    Thread.new { answer.error("no luck") }
    answer
  end

  def fails_by_name
    answer = RPC::AsyncResult.new
    answer.result(["nobody home"], ".CallError.NoMethodError.Really")
    answer
  end

  def fails_by_own_name
    answer = RPC::AsyncResult.new
    answer.result(["too deep", { "depth" => 3 }], "DepthError")
    answer
  end

  private

  def hidden = "secret"
end

# Since Ruby 3.4 there are spaces around the arrow of a Hash.
def show(*values) = puts(values.map { |value| value.inspect.gsub(" => ", "=>") }.join(" "))

def failure
  yield
rescue RPC::RPCError => e
  show(e.class, e.message, e.code, e.data)
end

# Not one that the kernel gives to others meanwhile.
def free_port
  TCPServer.open("127.0.0.1", rand(10_000...32_768)) { |server| server.addr[1] }
rescue Errno::EADDRINUSE
  retry
end

def serve(object = nil, port = free_port)
  server = RPC::Server.new
  server.listen("127.0.0.1", port, object || Service.new(server))
  thread = Thread.new do
    server.run
    server.close
  end
  client = RPC::Client.new("127.0.0.1", port)
  yield client, server
ensure
  client.close
  server.stop
  thread.join(10) or raise "the server does not stop"
end

# calls
serve do |client,|
  show(client.call(:hello), client.call("sum", 1, 2), client.call_apply(:sum, [3, 4]), client.send(:hello).get)
  show(client.call(:echo, nil, true, 1.5, "é", [1, { "a" => 2 }]), client.timeout, client.host)
  show(client.call_async(:hello).class, client.call_async_apply(:sum, [1, 2]).get, client.port.class)
  future = client.call_async(:hello)
  show(future.join.equal?(future), future.result, future.error, future.get)
end

# errors
serve do |client,|
  failure { client.call(:fails) }
  failure { client.call(:hidden) }
  failure { client.call(:fails_later) }
  failure { client.call(:fails_by_name) }
  failure { client.call(:fails_by_own_name) }
  future = client.call_async(:fails).join
  show(future.error, future.result)
  begin
    client.call(:fails_by_name)
  rescue RPC::RPCError => e
    show(e.is?(RPC::CallError), e.is?(".CallError"), e.is?(RPC::NoMethodError), e.is?(RPC::ServerError), e.is?(RPC::RemoteError))
  end
end

# notifications, results before the end and after it
serve do |client,|
  show(client.notify(:note, "a"), client.notify_apply(:note, ["b"]))
  show(client.call(:early), client.call(:seen))
  show(client.call(:later))
end

# callbacks
serve do |client,|
  told = Queue.new
  futures = [client.callback(:hello) { |error, result| told << [error, result] }]
  futures << client.callback(:sum, 1, 2) { |future| told << future.get }
  futures << client.callback_apply(:fails, []) { |error, result| told << [error, result] }
  futures.each(&:join)
  show(Array.new(3) { told.pop }.sort_by(&:inspect))
end

# a pool, and a server that is one
serve do |client, server|
  pool = RPC::SessionPool.new
  session = pool.get_session("127.0.0.1", client.port)
  show(session.call(:hello), pool.get_session("127.0.0.1", client.port).equal?(session))
  pool.close
  show(server.is_a?(RPC::SessionPool))
end

# lists of methods
RPC::Server.new.then do |server|
  port = free_port
  server.listen("127.0.0.1", port, Service.new(server), %w[hello])
  Thread.new { server.run }
  RPC::Client.open("127.0.0.1", port) do |client|
    show(client.call(:hello))
    failure { client.call(:sum, 1, 2) }
  end
  server.stop
  server.close
end

# nobody there, nobody who answers
RPC::Client.open("127.0.0.1", free_port) { |client| failure { client.call(:hello) } }
TCPServer.open("127.0.0.1", 0) do |silent|
  RPC::Client.open("127.0.0.1", silent.addr[1]) do |client|
    client.timeout = 1
    failure { client.call(:hello) }
  end
end
