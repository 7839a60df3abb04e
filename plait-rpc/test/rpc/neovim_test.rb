# frozen_string_literal: true

require "test_helper"
require "support/neovim_server"
require "plait/rpc"

# Neovim as the server of our client, and the caller of its methods.
class RPCNeovimTest < Minitest::Test
  # Runs each request in a thread of its own.
  class Desk
    attr_reader :told
    attr_accessor :client

    def initialize
      @told = Queue.new
    end

    def take(incoming)
      return @told << [incoming.method_name, arguments(incoming)] unless incoming.id

      Thread.new { answer(incoming) }
    end

    def closed(_connection, _error) = @told << :closed

    private

    def arguments(incoming) = incoming.connection.codec.unpack(incoming.params)

    def answer(incoming)
      incoming.connection.respond(incoming.id, send(incoming.method_name, *arguments(incoming)))
    rescue NoMethodError => e
      incoming.connection.respond_error(incoming.id, e.message)
    end

    def double(number) = number * 2

    # Each of them calls Neovim, which calls the next one.
    def descend(channel, depth)
      depth == 0 ? 0 : 1 + client.call(:nvim_eval, "rpcrequest(#{channel}, 'descend', #{channel}, #{depth - 1})")
    end
  end

  def test_calls_over_tcp
    with_client(neovim.url) do |client|
      assert_equal(2, client.call(:nvim_eval, "1 + 1"))
      assert_equal(["a", "b"], client.call(:nvim_eval, "['a', 'b']"))
      assert_equal({ "x" => 1.5 }, client.call(:nvim_eval, "{'x': 1.5}"))
    end
  end

  def test_calls_over_a_unix_socket
    with_client("unix://#{neovim.socket_path}") { |client| assert_equal(2, client.call(:nvim_eval, "1 + 1")) }
  end

  def test_many_calls
    with_client(neovim.url) do |client|
      assert_equal((0...300).map { |i| i * 2 }, client.map(:nvim_eval, (0...300).map { |i| "#{i} * 2" }))
      threads = Array.new(4) { |t| Thread.new { Array.new(20) { |i| client.call(:nvim_eval, "#{t} * 100 + #{i}") } } }
      threads.each_with_index { |thread, t| assert_equal(Array.new(20) { |i| (t * 100) + i }, thread.value) }
    end
  end

  def test_large_values
    with_client(neovim.url) do |client|
      client.call(:nvim_set_var, "large", "x" * 2_000_000)
      assert_equal("x" * 2_000_000, client.call(:nvim_get_var, "large"))
    end
  end

  def test_errors
    with_client(neovim.url) do |client|
      error = assert_raises(Plait::RemoteError) { client.call(:nvim_eval, "nosuch(") }
      assert_equal(0, error.code)
      assert_match(/E116|E117|E110|E15/, error.message)
      assert_raises(Plait::RemoteError) { client.call(:no_such_method) }
      assert_raises(Plait::RemoteError) { client.call(:nvim_eval) }
      assert_equal(2, client.call(:nvim_eval, "1 + 1"))
    end
  end

  def test_extension_types
    buffer = Struct.new(:number)
    client = Plait::RPC::Client.connect(neovim.url) do |factory|
      factory.register_type(0, buffer, packer: ->(b) { MessagePack.pack(b.number) },
                                       unpacker: ->(payload) { buffer.new(MessagePack.unpack(payload)) })
    end
    current = client.call(:nvim_get_current_buf)
    assert_instance_of(buffer, current)
    client.call(:nvim_buf_set_lines, current, 0, -1, true, %w[one two])
    assert_equal(2, client.call(:nvim_buf_line_count, current))
    assert_equal(1, client.call(:nvim_get_current_win).type)
  ensure
    client&.close
  end

  def test_its_requests
    with_desk do |client, channel|
      assert_equal(8, client.call(:nvim_eval, "rpcrequest(#{channel}, 'double', 4)"))
      error = assert_raises(Plait::RemoteError) { client.call(:nvim_eval, "rpcrequest(#{channel}, 'nosuch')") }
      assert_match(/undefined method/, error.message)
    end
  end

  def test_its_notifications
    with_desk do |client, channel, desk|
      5.times { |i| client.call(:nvim_eval, "rpcnotify(#{channel}, 'told', #{i}, 'x')") }
      assert_equal(Array.new(5) { |i| ["told", [i, "x"]] }, Array.new(5) { desk.told.pop })
    end
  end

  def test_nested_requests
    with_desk(order: :lifo) do |client, channel|
      assert_equal(8, client.call(:nvim_eval, "rpcrequest(#{channel}, 'descend', #{channel}, 8)", timeout: 30))
    end
  end

  def test_a_handler_for_all_of_that
    told = Queue.new
    handler = { "double" => ->(number) { number * 2 }, "told" => ->(number) { told << number },
                "descend" => lambda do |channel, depth|
                  call = "rpcrequest(#{channel}, 'descend', #{channel}, #{depth - 1})"
                  depth.zero? ? 0 : 1 + Plait::RPC.current.connection.request(:nvim_eval, [call])
                end }
    with_client(neovim.url, handler: handler, order: :lifo) do |client|
      channel = client.call(:nvim_get_api_info).first
      assert_equal(8, client.call(:nvim_eval, "rpcrequest(#{channel}, 'double', 4)"))
      assert_equal(8, client.call(:nvim_eval, "rpcrequest(#{channel}, 'descend', #{channel}, 8)"))
      100.times { |number| client.notify(:nvim_eval, "rpcnotify(#{channel}, 'told', #{number})") }
      assert_equal([*0...100], Array.new(100) { told.pop })
    end
  end

  def test_it_goes_away
    server = Support::NeovimServer.start
    desk = Desk.new
    client = Plait::RPC::Client.connect(server.url, dispatcher: desk, reconnect: 0)
    waiting = Thread.new { assert_raises(Plait::ConnectionClosed) { client.call(:nvim_eval, "getchar()") } }
    Support::Waiting.wait_until { client.pending == 1 }
    server.kill
    refute_predicate(waiting.value, :retry_safe?)
    assert_equal(:closed, desk.told.pop)
    assert_raises(Plait::ConnectError) { client.call(:nvim_eval, "1") }
  ensure
    client&.close
    server&.stop
  end

  private

  def neovim = Support::NeovimServer.shared

  def with_client(url, **options, &block)
    neovim
    assert_no_leaks { Plait::RPC::Client.open(url, **options, &block) }
  end

  def with_desk(**options)
    desk = Desk.new
    with_client(neovim.url, dispatcher: desk, **options) do |client|
      desk.client = client
      yield(client, client.call(:nvim_get_api_info).first, desk)
    end
  end
end
