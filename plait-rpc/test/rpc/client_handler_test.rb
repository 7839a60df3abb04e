# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "support/fresh_ruby"
require_relative "toy_server"
require "plait/rpc"
require "timeout"

# What a server can ask of a client with a handler.
class RPCClientHandlerTest < Minitest::Test
  # The server's side: what it is asked for it asks the client for.
  class Caller
    def ask(method, *arguments) = connection.request(method, arguments)

    def tell(count)
      count.times { |number| connection.notify(:told, [number]) }
      nil
    end

    # The client's method asks for the rest.
    def descend(depth) = depth.zero? ? 0 : 1 + connection.request(:deeper, [depth - 1])

    def together(count)
      futures = Array.new(count) { |number| connection.call(:wait, [number]) }
      futures.map(&:value)
    end

    private

    def connection = Plait::RPC.current.connection
  end

  # The client's.
  class Answers
    attr_reader :news, :gate

    def initialize
      @news = Queue.new
      @gate = Queue.new
    end

    def double(number) = number * 2

    def told(number)
      sleep(0.002) if number == 0 # the next one is there already
      @news << number
    end

    def deeper(depth) = Plait::RPC.current.connection.request(:descend, [depth])
    def wait(number) = [@news << [:waits, number], @gate.pop].last
    def boom = raise(KeyError, "no")
    def kill = Thread.exit
    def odd = raise(Exception, "odd") # rubocop:disable Lint/RaiseException
    def late = Timeout.timeout(0.05) { sleep }

    protected

    def hidden = 1
  end

  METHODS = Answers.public_instance_methods(false) - %i[news gate]

  def test_requests
    with_client do |client|
      assert_equal(8, client.call(:ask, :double, 4))
      assert_equal([10, 12], client.map(:ask, [[:double, 5], [:double, 6]]))
      assert_equal("KeyError: no", refusal(client, :boom))
      assert_equal("ArgumentError: double takes 1 argument, not 0", refusal(client, :double))
      %i[hidden nothing send exit].each do |method|
        assert_equal("NoMethodError: there is no method \"#{method}\"", refusal(client, method))
      end
    end
  end

  def test_methods_that_end_what_runs_them_harm_nobody
    with_client do |client|
      %i[kill odd].each { |method| 40.times { assert_match(/\AAbandonedError/, refusal(client, method)) } }
      assert_match(/\ATimeout::Error/, refusal(client, :late))
      assert_equal(2, client.call(:ask, :double, 1))
    end
  end

  def test_notifications_are_run_in_their_order
    with_client do |client, answers|
      client.call(:tell, 200)
      assert_equal([*0...200], Array.new(200) { answers.news.pop })
    end
  end

  def test_nested_calls
    with_client { |client| assert_equal(100, client.call(:descend, 100)) }
  end

  def test_nested_calls_of_fibers
    skip_without_fibers
    with_client do |client|
      assert_equal([20, 20, 20], Plait.map([20, 20, 20], on: :fibers) { |depth| client.call(:descend, depth) })
    end
  end

  def test_requests_are_run_side_by_side
    with_client do |client, answers|
      result = client.call_async(:together, 20)
      assert_equal([*0...20], Array.new(20) { answers.news.pop.last }.sort)
      20.times { answers.gate << :over }
      assert_equal([:over.name] * 20, result.value)
    end
  end

  # It is called without a call of its own.
  def test_once_it_is_open
    answers = Answers.new
    ToyServer.open(->(message, peer) { peer.send(2, "told", [message]) if message[0] == 1 }) do |toy|
      client = client_of(toy.url, answers).open
      toy.peer.send(0, 7, "double", [4])
      assert_equal([1, 7, nil, 8], answers.news.pop)
    ensure
      client.close
    end
  end

  def test_requests_beyond_the_queue_are_refused
    answers = Answers.new
    refused = Queue.new
    ToyServer.open(->(message, _peer) { refused << message[2] }) do |toy|
      client = client_of(toy.url, answers).open
      peer = toy.peer
      32.times { |id| peer.send(0, id, "wait", [id]) }
      wait_until { answers.news.size == 32 }
      1_028.times { |id| peer.send(0, id, "wait", [id]) }
      assert_equal(["ServerBusyError: 1024 requests wait already"] * 4, Array.new(4) { refused.pop })
      assert_equal(32, answers.news.size)
    ensure
      client.close
      32.times { answers.gate << :over }
    end
  end

  # What had not begun when the connection went is not begun, but for notifications.
  def test_the_connection_goes
    answers, over = Answers.new, Queue.new
    others = threads
    client = nil
    ToyServer.open(->(_message, _peer) {}) do |toy|
      client = Plait::RPC::Client.connect(toy.url, dispatcher: dispatcher_that_tells(answers, over), timeout: 90).open
      peer = toy.peer
      40.times { |id| peer.send(0, id, "wait", [id]) }
      peer.send(2, "wait", [:last])
      peer.send(2, "told", [:told])
      wait_until { answers.news.size == 33 }
    end
    over.pop
    33.times { answers.gate << :over }
    news = Array.new(34) { answers.news.pop }
    assert_equal("told", news.pop)
    assert_includes(news, [:waits, "last"])
    wait_until { (threads - others).empty? }
    assert_predicate(answers.news, :empty?)
  ensure
    client&.close
  end

  def test_the_process_ends_while_more_waits
    result = Support::FreshRuby.run(<<~RUBY, flags: ["-w"])
      require "plait"
      begun = Queue.new
      server = Plait::RPC::Server.new({ "go" => -> { 9.times { Plait::RPC.current.connection.notify(:tell, []) } } })
      url = server.listen("127.0.0.1", 0)
      server.start
      client = Plait::RPC::Client.connect(url, handler: { "tell" => -> { (begun << true) && sleep } })
      client.call(:go)
      begun.pop
    RUBY
    assert_equal(["", "", true], [result.out, result.err, result.success?])
  end

  def test_notifications_without_end_end_the_connection
    skip("takes minutes on JRuby where the machine is busy") if RUBY_ENGINE == "jruby"
    answers = Answers.new
    ToyServer.open(->(_message, _peer) {}) do |toy|
      client = client_of(toy.url, answers).open
      future = client.call_async(:anything, timeout: 100)
      peer = toy.peer
      begin
        70.times { peer.socket.write([2, "wait", [1]].to_msgpack * 1_000) }
      rescue IOError, SystemCallError
        nil # it has ended before all was written
      end
      assert_match(/has brought 65536 notifications that wait to be run/, future.error.message)
    ensure
      answers.gate.close # all of them are told
      client.close
    end
  end

  def test_a_fork_is_called_on_its_own
    skip("there is no fork here") unless Process.respond_to?(:fork)

    with_client do |client|
      assert_equal(4, client.call(:ask, :double, 2))
      pid = fork { exit!(client.call(:ask, :double, 3) == 6) }
      assert_predicate(Process.wait2(pid).last, :success?)
      assert_equal(4, client.call(:ask, :double, 2))
    end
  end

  def test_a_new_connection_after_the_end_of_one
    with_client do |client, _, server|
      assert_equal(4, client.call(:ask, :double, 2))
      server.close_connections
      wait_until { !client.connected? }
      assert_equal(4, client.call(:ask, :double, 2))
    end
  end

  def test_blocks_and_handlers_of_ones_own
    with_client({ "double" => ->(number) { number * 3 } }) { |client| assert_equal(9, client.call(:ask, :double, 3)) }
    told = Queue.new
    handler = Plait::RPC::Handler.new(Answers.new, methods: { "twice" => :double, "boom" => :boom }, errors: :pair,
                                                   on_error: ->(error, _) { told << error.message })
    with_client(handler) do |client|
      assert_equal(6, client.call(:ask, "twice", 3))
      assert_raises(Plait::RemoteError) { client.call(:ask, "boom") }
      assert_equal("no", told.pop)
    end
  end

  def test_what_is_no_handler
    assert_raises(Plait::UsageError) { Plait::RPC::Client.new("127.0.0.1", 1, handler: Object.new) }
    assert_raises(Plait::UsageError) { Plait::RPC::Client.new("127.0.0.1", 1, handler: Answers.new, dispatcher: Object.new) }
  end

  private

  # A server that can be told to end the connections it has.
  class Server < Plait::RPC::Server
    def close_connections = @work.close
  end

  def with_client(answers = Answers.new)
    assert_no_leaks do
      server = Server.new(Caller.new)
      client = client_of(server.listen("127.0.0.1", 0), answers)
      serving = server.start
      yield(client, answers, server)
    ensure
      client&.close
      server&.stop
      serving&.join
    end
  end

  # @param over [Queue] gets something when it has heard of the end of a connection
  def dispatcher_that_tells(answers, over)
    handler = Plait::RPC::Handler.new(answers, methods: METHODS)
    Plait::RPC::Client.const_get(:Dispatcher).new(handler).tap do |dispatcher|
      dispatcher.define_singleton_method(:closed) { |*all| super(*all).tap { over << true } }
    end
  end

  def client_of(url, answers)
    answers = Plait::RPC::Handler.new(answers, methods: METHODS) if answers.is_a?(Answers)
    Plait::RPC::Client.connect(url, handler: answers, timeout: 90)
  end

  # @return [String] what the server was answered
  def refusal(client, method)
    assert_raises(Plait::RemoteError) { client.call(:ask, method) }.message.delete_prefix("Plait::RemoteError: ")
  end

  def threads = Thread.list.select { |thread| thread.name&.start_with?("plait: answers", "plait: hears") }
end
