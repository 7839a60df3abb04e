# frozen_string_literal: true

# A program written for the gem msgpack-rpc: ruby program.rb FEATURE. What it prints is the same with either one.

require ARGV.fetch(0)
require "socket"
require "tmpdir"
require "msgpack/rpc/transport/unix" if ARGV[0] == "msgpack/rpc" # in ours it is one of the rest

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
    @server.start_timer(0.1, false) { answer.result("in time") }
    answer
  end

  def later_by_yield
    answer = RPC::AsyncResult.new
    yield answer
    Thread.new { answer.result("by a thread") }
    nil
  end

  def fails_later
    answer = RPC::AsyncResult.new
    @server.submit { answer.error("no luck") }
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

class Router
  include RPC::Dispatcher

  def dispatch(method, arguments)
    yield "early" if method == "early"
    "#{method}(#{arguments.join(", ")})"
  end
end

def show(*values) = puts(values.map(&:inspect).join(" "))

def failure
  yield
rescue RPC::RPCError => e
  show(e.class, e.message, e.code, e.data)
end

def free_port
  server = TCPServer.new("127.0.0.1", 0)
  server.addr[1]
ensure
  server.close
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
  show(client.call_async(:hello).class, client.call_async_apply(:sum, [1, 2]).get, client.address.to_a.first)
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
  show(client.call(:later), client.call(:later_by_yield))
end

# callbacks
serve do |client,|
  told = []
  client.callback(:hello) { |error, result| told << [error, result] }
  client.callback(:sum, 1, 2) { |future| told << future.get }
  client.callback_apply(:sum, [2, 3]) { raise "nobody hears it" }
  client.loop.run_once until told.size == 2
  show(told)
  future = client.callback(:fails) { |error, result| told << error << result }
  show(future.join.equal?(future), told.last(2))
  future = client.call_async(:hello)
  future.attach_callback { |one| told << one.result }
  future.join
  show(told.last)
  future = client.call_async(:hello)
  future.attach_result_handler(&:upcase)
  show(future.get)
end

# several futures
serve do |client,|
  many = RPC::MultiFuture.new
  told = []
  many.on_all { |all| told << all.size }.on_success { |one| told << one.result }.on_error { |one| told << one.error }
  many.on_num(2) { |joined| told << [:two, joined.size] }
  many.add(client.call_async(:hello)).add(client.call_async(:fails)).add(client.call_async(:sum, 1, 2))
  show(many.all.size, many.not_joined.size, many.join_all.size)
  show(told, many.joined.size, many.success.size, many.error.size, many.not_joined.size)
  many.clear
  many.add(client.call_async(:fails)).add(client.call_async(:hello))
  show(many.join_success.result, many.join_error.error)
  many.clear
  show(many.add(client.call_async(:hello)).join_error)
end

# a pool, and a server that is one
serve do |client, server|
  pool = RPC::SessionPool.new
  session = pool.get_session("127.0.0.1", client.port)
  show(session.class, session.call(:hello), pool.get_session(RPC::Address.new("127.0.0.1", client.port)).equal?(session))
  pool.close
  show(server.is_a?(RPC::SessionPool), RPC::Client.ancestors.include?(RPC::Session))
end

# one loop for a server and its client
RPC::Loop.new.then do |loop|
  port = free_port
  server = RPC::Server.new(loop)
  server.serve(Service.new(server))
  server.listen("127.0.0.1", port)
  client = RPC::Client.new("127.0.0.1", port, loop)
  told = []
  client.callback(:hello) { |error, result| told << error << result }
  loop.run_once while told.empty?
  show(told, client.call(:sum, 1, 2))
  ticks = 0
  client.start_timer(0.02, true) { (ticks += 1) == 3 && client.stop }
  client.submit { told << "submitted" }
  client.run
  show(ticks >= 3, told.last)
  client.close
  server.close
end

# dispatchers of one's own, and lists of methods
serve(Router.new) { |client,| show(client.call(:anything, 1, 2), client.call(:early)) }
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

# addresses
address = RPC::Address.new("172.16.0.11", 18_900)
packed = +""
address.to_msgpack(packed)
show(address.to_s, address.host, address.port, address.connectable?, address.dump.bytes)
show(RPC::Address.load(MessagePack.unpack(packed)) == address, { address => 1 }[RPC::Address.new("172.16.0.11", 18_900)])

# UNIX sockets
Dir.mktmpdir("compat") do |folder|
  path = File.join(folder, "sock")
  server = RPC::Server.new
  server.listen(RPC::UNIXServerTransport.new(path), Service.new(server))
  thread = Thread.new { server.run }
  client = RPC::Client.new(RPC::UNIXTransport.new, path)
  show(client.call(:sum, 1, 2), client.address == path)
  client.close
  server.stop
  thread.join
  server.close
end

# what generated code builds upon
class Generated < RPC::Server::Base
  def double(number) = number * 2
end

Generated.new.then do |service|
  port = free_port
  service.base.listen("127.0.0.1", port)
  Thread.new { service.base.run }
  client = RPC::Client::Base.new("127.0.0.1", port)
  show(client.base.call(:double, 4))
  client.base.close
  service.base.stop
end
