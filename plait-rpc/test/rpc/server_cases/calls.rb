# frozen_string_literal: true

require "msgpack"

module ServerCases
  # What peers are answered.
  module Calls
    def test_results_and_errors
      serve
      talker = connect
      assert_equal([nil, 3], call(talker, "add", 1, 2))
      value = { "a" => [1, nil, true, 1.5, "\xFF".b] }
      assert_equal([nil, value], call(talker, "echo", value))
      assert_equal(["KeyError: no", nil], call(talker, "boom", "no"))
      assert_equal(["ArgumentError: add takes 2 arguments, not 3", nil], call(talker, "add", 1, 2, 3))
      %w[send instance_eval inspect system exit class gate].each do |method|
        assert_equal(["NoMethodError: there is no method #{method.inspect}", nil], call(talker, method))
      end
    end

    # Sent at once, and all answered: each once, though not in their order.
    def test_many_in_flight
      serve
      talker = connect
      talker.socket.write(Array.new(3_000) { |id| [0, id, "echo", [id]].to_msgpack }.join)
      assert_equal(Array.new(3_000) { |id| [1, id, nil, id] }, talker.hear_many(3_000).sort)
    end

    def test_answers_do_not_wait_for_earlier_ones
      serve
      talker = connect
      3.times { assert_serves(talker) } # now it is known to be quick
      talker.request(1, "wait", "first")
      talker.request(2, "add", 1, 2)
      assert_equal([1, 2, nil, 3], talker.hear)
      talker.request(3, "wait", "second")
      @service.gate("second") << :two
      assert_equal([1, 3, nil, "two"], talker.hear)
      @service.gate("first") << :one
      assert_equal([1, 1, nil, "one"], talker.hear)
    end

    # What was quick so far waits all of a sudden.
    def test_a_quick_method_that_waits_holds_up_nobody
      serve
      talker = connect
      20.times { |id| @service.gate("it") << id }
      20.times { call(talker, "wait", "it") }
      talker.request(1, "wait", "it")
      assert_serves
      talker.request(2, "add", 1, 2)
      assert_equal([1, 2, nil, 3], talker.hear)
      @service.gate("it") << :over
      assert_equal([1, 1, nil, "over"], talker.hear)
    end

    def test_notifications
      serve
      talker = connect
      talker.say(2, "note", [5])
      talker.say(2, "boom", ["unheard"])
      talker.say(2, "nothing", [])
      assert_equal(5, @service.notes.pop)
      assert_serves(talker)
      assert_equal(3, count(:notifications))
    end

    def test_answered_before_the_method_is_over
      serve
      talker = connect
      assert_equal([nil, 9], call(talker, "early", 9))
      @service.gate("early") << true
      assert_equal([[:waits, "early"], [:over, 9]], [@service.notes.pop, @service.notes.pop])
      assert_serves(talker)
    end

    def test_answered_after_the_method_is_over
      serve
      talker = connect
      talker.request(1, "delayed")
      assert_equal(:delayed, @service.notes.pop)
      assert_serves(talker)
      @service.gate("delayed") << :late
      assert_equal([1, 1, nil, "late"], talker.hear)
    end

    # Ids are the peer's own: any number, also one that is in use.
    def test_ids_are_echoed
      serve
      talker = connect
      ids = [0, 1, 1, (1 << 32) - 1, (1 << 64) - 1]
      ids.each { |id| talker.request(id, "echo", id) }
      assert_equal(ids, talker.hear_many(5).map { |answer| answer[3] }.sort)
    end

    def test_large_values_both_ways
      serve
      talker = connect
      data = Random.new(1).bytes(3_000_000)
      writer = Thread.new { talker.request(1, "echo", data) }
      assert_equal([1, 1, nil, data], talker.hear)
      writer.join
    end

    def test_an_enumerator_has_no_form
      serve({ "numbers" => -> { (1..3).each } })
      assert_match(/\AResultError: .*Enumerator has no form in MessagePack/, call(connect, "numbers").first)
    end

    def test_no_datagrams
      error = assert_raises(Plait::UsageError) { Plait::RPC::Server.new(@service).listen("udp://127.0.0.1:0") }
      assert_match(%r{udp://.* datagrams have none. Use tcp://}, error.message)
      assert_raises(Plait::UsageError) { Plait::RPC::Client.connect("udp://127.0.0.1:1") }
    end

    def test_introspection
      serve
      talker = connect
      assert_equal([nil, "pong"], call(talker, "rpc.ping"))
      methods = call(talker, "rpc.methods").last
      assert_equal({ "arity" => [2, 2], "parameters" => [%w[req a], %w[req b]] }, methods["add"])
      statistics = call(talker, "rpc.stats").last
      assert_equal([1, 3, 0], statistics.values_at("connections", "requests", "refused"))
    end

    def test_no_introspection
      serve(introspection: false)
      assert_equal(['NoMethodError: there is no method "rpc.ping"', nil], call(connect, "rpc.ping"))
    end

    def test_errors_as_the_peer_knows_them
      serve(errors: :named)
      assert_equal([".CallError.NoMethodError", ['there is no method "nothing"']], call(connect, "nothing"))
    end

    def test_what_methods_raise_is_told
      seen = queue.new
      serve(on_error: ->(error, incoming) { seen << [error.message, incoming.method_name] })
      call(connect, "boom", "told")
      assert_equal(%w[told boom], seen.pop)
    end
  end
end
