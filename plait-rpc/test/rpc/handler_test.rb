# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "plait/rpc"
require_relative "fake_connection"

class RPCHandlerTest < Minitest::Test
  RPC = Plait::RPC

  class Service
    def add(a, b) = a + b
    def fail_with(text) = raise(KeyError, text)
    def loop_for_ever = loop_for_ever
    def leave = exit(3)
    def missing = raise(NotImplementedError, "later")
    def unpackable = Object.new
    def early = yield(:early) && :late
    def twice = [yield(1), yield(2)]
    def kill = Thread.exit
    def odd = raise(Odd)
    def delayed = RPC::Delayed.new.tap { |delayed| @delayed = delayed }
    def settle(value) = @delayed.result(value)
    def at_once = RPC::Delayed.new.tap { |delayed| delayed.result(7) }
    def never = RPC::Delayed.new.tap { |delayed| delayed.error("no luck") }
    def bytes = raise("caf\xE9".b)
    def nested_error = raise(Told)
  end

  class Odd < Exception; end # rubocop:disable Lint/InheritException -- what a rescue of errors does not catch

  class Told < StandardError
    def to_rpc_error = [{ "code" => 5 }, [1]]
  end

  # Notes the first answer of each.
  class Dispatcher
    attr_reader :handler

    def initialize(handler) = @handler = handler
    def tell(error) = @handler.tell(error)
    def settle(incoming) = incoming.answered? ? false : incoming.answered!
  end

  def setup
    @connection = FakeConnection.new
    @seen = []
  end

  def handler(**options)
    RPC::Handler.new(Service.new, on_error: ->(error, incoming) { @seen << [error.class, incoming.id] }, **options)
  end

  def run_one(handler, id, method, *arguments)
    incoming = @connection.request(id, method, *arguments, dispatcher: Dispatcher.new(handler))
    handler.run(incoming, handler.find(method))
    incoming
  end

  # @return [Array] the only answer: error, result
  def answer(method, *arguments, **options)
    run_one(handler(**options), 1, method, *arguments)
    assert_equal(1, @connection.answers.size)
    @connection.answers.first.drop(1)
  end

  def test_results
    assert_equal([nil, 3], answer("add", 1, 2))
  end

  def test_what_is_refused
    { ["add", 1] => "ArgumentError: add takes 2 arguments, not 1", ["send", "exit"] => 'NoMethodError: there is no method "send"',
      ["unpackable"] => /\AResultError: a value of Object can't be packed/,
      ["leave"] => "AbandonedError: the method called exit" }
      .each do |(method, *arguments), message|
        @connection.answers.clear
        error, result = answer(method, *arguments)
        assert_operator(message, :===, error)
        assert_nil(result)
      end
  end

  def test_what_methods_raise
    { "fail_with" => "KeyError: x", "missing" => "NotImplementedError: later", "bytes" => "RuntimeError: caf\u{fffd}",
      "loop_for_ever" => /\ASystemStackError: stack level too deep/ }.each do |method, message|
      @connection.answers.clear
      error, = method == "fail_with" ? answer(method, "x") : answer(method)
      assert_operator(message, :===, error)
    end
    assert_equal([[KeyError, 1], [NotImplementedError, 1], [RuntimeError, 1], [SystemStackError, 1]], @seen)
  end

  def test_arguments_that_can_not_be_unpacked
    handler = handler()
    incoming = RPC::Incoming.new(@connection, 5, "add", "\x92\xA1\xFF\xC1".b)
    incoming.dispatcher = Dispatcher.new(handler)
    handler.run(incoming, handler.find("add"))
    assert_match(/\AArgumentError: the peer sent a value that can't be unpacked/, @connection.answers.first[1])
  end

  def test_as_pairs
    assert_equal([[1, 'NoMethodError: there is no method "nothing"'], nil], answer("nothing", errors: :pair))
    @connection.answers.clear
    assert_equal([[0, "KeyError: x"], nil], answer("fail_with", "x", errors: :pair))
  end

  def test_by_name
    assert_equal([".CallError.NoMethodError", ['there is no method "nothing"']], answer("nothing", errors: :named))
    @connection.answers.clear
    assert_equal([".CallError.ArgumentError", ["add takes 2 arguments, not 0"]], answer("add", errors: :named))
    @connection.answers.clear
    assert_equal(["KeyError", ["x"]], answer("fail_with", "x", errors: :named))
  end

  def test_ones_own_format
    assert_equal(["!", 5], answer("fail_with", "x", errors: ->(_) { ["!", 5] }))
    @connection.answers.clear
    assert_equal([{ "code" => 5 }, [1]], answer("nested_error", errors: :named))
    assert_raises(Plait::UsageError) { handler(errors: :xml) }
  end

  def test_yielded_early
    assert_equal([nil, "early"], answer("early"))
    @connection.answers.clear
    assert_equal([nil, 1], answer("twice"))
  end

  def test_delayed
    handler = handler()
    run_one(handler, 1, "delayed")
    assert_empty(@connection.answers)
    run_one(handler, 2, "settle", "there")
    assert_equal([[1, nil, "there"], [2, nil, true]], @connection.answers)
    run_one(handler, 3, "settle", "again")
    assert_equal([3, nil, false], @connection.answers.last)
  end

  def test_delayed_but_settled_before_it_is_returned
    assert_equal([nil, 7], answer("at_once"))
    @connection.answers.clear
    assert_equal(["RuntimeError: no luck", nil], answer("never"))
  end

  def test_one_who_kills_the_thread
    thread = Thread.new { run_one(handler, 1, "kill") }
    assert(thread.join(60))
    assert_match(/\AAbandonedError/, @connection.answers.first[1])
  end

  def test_what_is_not_the_handlers_to_swallow_goes_on
    assert_raises(Odd) { run_one(handler, 1, "odd") }
    assert_match(/\AAbandonedError/, @connection.answers.first[1])
  end

  def test_notifications_are_never_answered
    handler = handler()
    run_one(handler, nil, "add", 1, 2)
    run_one(handler, nil, "add")
    run_one(handler, nil, "fail_with", "x")
    run_one(handler, nil, "unpackable")
    assert_empty(@connection.answers)
    assert_equal([[KeyError, nil]], @seen)
  end

  def test_an_on_error_that_raises
    handler = RPC::Handler.new(Service.new, on_error: ->(*) { raise("worse") })
    run_one(handler, 1, "fail_with", "x")
    assert_equal([1, "KeyError: x", nil], @connection.answers.first)
  end

  def test_further_methods
    extra = RPC.const_get(:Exposure).of({ "rpc.ping" => -> { "pong" } })
    assert_equal([nil, "pong"], answer("rpc.ping", extra: extra))
  end
end
