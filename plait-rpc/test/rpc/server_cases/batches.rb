# frozen_string_literal: true

require "msgpack"
require "plait/rpc"

module ServerCases
  # Requests that come at once, of methods that have been quick so far: they are run back to back, and answered together.
  module Batches
    # Methods of every kind, each as quick as can be, until it is told to wait.
    class Quick
      attr_reader :gate, :noted

      def initialize(queue)
        @gate = queue.new
        @noted = queue.new
      end

      def add(left, right = 1) = left + right
      def early(value) = (yield value) && 0
      def who = Plait::RPC.current.id
      def boom(text) = raise(KeyError, text)
      def pause(wait) = wait ? @gate.pop : "at once"
      def delayed(value) = Plait::RPC::Delayed.new.tap { |delayed| delayed.result(value) }
      def unpackable(_) = self
      def large(size) = "x" * size
      def note(value) = (@noted << value) && nil
      def die(die) = die ? Thread.exit : "alive"

      # Yields when it is over, by `recall`.
      def afterwards(value, &block)
        @recall = -> { block.call(value) }
        "over"
      end

      def recall = @recall.call
      def ask(ask) = ask ? Plait::RPC.current.connection.call("answer", []).value : "nobody"
      def split(split) = split ? Process.fork || "of the fork" : "not"
      def text(size, binary) = binary ? "\xFF".b * size : "ä" * (size / 2)
    end

    # As this Ruby says it.
    UNDEFINED = begin
      { "a" => 1 }.public_send(:+, 1)
    rescue NoMethodError => e
      "NoMethodError: #{e.message[/.*/]}".freeze
    end

    EXPOSED = (Quick.public_instance_methods(false) - %i[gate noted]).freeze
    # Method, arguments => error, result.
    EXPECTED = {
      ["add", [1, 2]] => [nil, 3], ["add", [-5]] => [nil, -4], ["add", ["a", "b"]] => [nil, "ab"],
      ["add", []] => ["ArgumentError: add takes 1 to 2 arguments, not 0", nil],
      ["early", [[1, "ä", nil]]] => [nil, [1, "ä", nil]], ["boom", ["no"]] => ["KeyError: no", nil],
      ["pause", [false]] => [nil, "at once"], ["delayed", [2.5]] => [nil, 2.5], ["die", [false]] => [nil, "alive"],
      ["add", [{ "a" => 1 }]] => [UNDEFINED, nil],
      ["nothing", []] => ["NoMethodError: there is no method \"nothing\"", nil], ["large", [70_000]] => [nil, "x" * 70_000]
    }.freeze

    # By these every method counts as quick.
    TRAINING = ((EXPECTED.keys + [["who", []], ["unpackable", [1]], ["ask", [false]], ["text", [1, true]]]) * 20).freeze

    def test_every_kind_of_request_at_once
      quick = serve_quick
      talker = trained
      calls = Array.new(20) { EXPECTED.keys }.flatten(1).shuffle(random: Random.new(5))
      talker.socket.write(calls.each_with_index.map { |call, id| [0, id, *call].to_msgpack }.join)
      answers = talker.hear_many(calls.size).sort_by { |answer| answer[1] }
      answers.each_with_index do |(_, id, error, result), number|
        assert_equal(number, id)
        assert_equal(EXPECTED.fetch(calls[id]), [error && error[/.*/], result], calls[id].inspect)
      end
      assert_predicate(quick.noted, :empty?)
    end

    # With warnings on, a method is called in another way.
    def test_every_kind_of_request_where_warnings_are_off
      verbose = $VERBOSE
      $VERBOSE = false
      test_every_kind_of_request_at_once
    ensure
      $VERBOSE = verbose
    end

    def test_each_knows_its_own_id
      serve_quick
      talker = trained
      ids = Array.new(50) { |number| number * 3 }
      talker.socket.write(ids.map { |id| [0, id, "who", []].to_msgpack }.join)
      assert_equal(ids.map { |id| [1, id, nil, id] }, talker.hear_many(50).sort)
    end

    # What is known of the connection is at another place after that.
    def test_requests_of_one_whose_objects_were_moved
      skip("this Ruby moves no objects") unless GC.respond_to?(:compact) && RUBY_ENGINE == "ruby"
      serve_quick
      talker = amid_others { connect.tap { |one| assert_serves(one) } }
      5.times do
        GC.compact
        talker.socket.write(Array.new(40) { |id| [0, id, "add", [id, id]].to_msgpack }.join)
        assert_equal(Array.new(40) { |id| [1, id, nil, 2 * id] }, talker.hear_many(40).sort)
      end
    end

    # Those before it are answered, and those behind it run by somebody else.
    def test_one_that_waits_all_of_a_sudden_holds_up_none_of_the_others
      quick = serve_quick
      talker = trained
      calls = Array.new(40) { |id| [0, id, "add", [id, id]] }
      calls.insert(20, [0, 100, "pause", [true]])
      talker.socket.write(calls.map(&:to_msgpack).join)
      assert_equal(Array.new(40) { |id| [1, id, nil, 2 * id] }, talker.hear_many(40).sort)
      quick.gate << "late"
      assert_equal([1, 100, nil, "late"], talker.hear)
      assert_equal([nil, 3], call(talker, "add", 1, 2))
    end

    def test_two_that_wait_hold_up_none_either
      quick = serve_quick
      talker = trained
      calls = [[0, 0, "add", [1]], [0, 1, "pause", [true]], [0, 2, "add", [2]], [0, 3, "pause", [true]], [0, 4, "add", [3]]]
      talker.socket.write(calls.map(&:to_msgpack).join)
      assert_equal([[1, 0, nil, 2], [1, 2, nil, 3], [1, 4, nil, 4]], talker.hear_many(3).sort)
      2.times { quick.gate << "late" }
      assert_equal([[1, 1, nil, "late"], [1, 3, nil, "late"]], talker.hear_many(2).sort)
    end

    def test_one_that_kills_its_thread_takes_nobody_with_it
      serve_quick
      talker = trained
      calls = Array.new(9) { |id| [0, id, "add", [id, 1]] }.insert(4, [0, 9, "die", [true]])
      talker.socket.write(calls.map(&:to_msgpack).join)
      answers = talker.hear_many(10).sort
      assert_equal(Array.new(9) { |id| [1, id, nil, id + 1] }, answers.first(9))
      assert_match(/ended before it had a result|called exit/, answers.last[2])
      assert_equal([nil, 3], call(talker, "add", 1, 2))
    end

    # Also the request that is being run by then is not answered by it.
    def test_what_is_yielded_afterwards_reaches_nobody
      serve_quick
      talker = trained
      20.times { call(talker, "afterwards", 1) && call(talker, "recall") }
      talker.socket.write([[0, 1, "afterwards", ["late"]], [0, 2, "recall", []], [0, 3, "add", [1]]].map(&:to_msgpack).join)
      assert_equal([[1, 1, nil, "over"], [1, 2, nil, false], [1, 3, nil, 2]], talker.hear_many(3).sort_by { |answer| answer[1] })
    end

    def test_a_result_that_cannot_be_packed
      serve_quick
      talker = trained
      talker.socket.write([[0, 1, "add", [1]], [0, 2, "unpackable", [1]], [0, 3, "add", [2]]].map(&:to_msgpack).join)
      one, two, three = talker.hear_many(3).sort
      assert_equal([[1, 1, nil, 2], [1, 3, nil, 3]], [one, three])
      assert_match(/Quick can't be packed/, two[2])
    end

    def test_notifications_are_run_though_their_peer_is_gone
      quick = serve_quick
      talker = trained
      talker.socket.write(Array.new(30) { |number| [2, "note", [number]].to_msgpack }.join)
      talker.socket.close
      assert_equal([*0...30], Array.new(30) { quick.noted.pop }.sort)
    end

    def test_all_is_counted
      serve_quick
      talker = trained
      before = TRAINING.size
      wait_until { count(:done) == before } # an answer may be here before it is counted
      talker.socket.write((Array.new(30) { |id| [0, id, "add", [id]] } + [[2, "note", [1]]]).map(&:to_msgpack).join)
      talker.hear_many(30)
      wait_until { count(:done) == before + 31 }
      assert_equal([0, 0, 0], %i[running waiting refused].map { |what| count(what) })
    end

    private

    def serve_quick(**options)
      Quick.new(queue).tap { |quick| serve(quick, methods: EXPOSED, **options) }
    end

    # @return [Talker] every method has been called so often that it is known to be quick
    # What is made meanwhile lies behind much that goes then.
    def amid_others
      others = Array.new(200_000) { Object.new }
      yield.tap { others.clear }
    end

    def trained
      talker = connect
      talker.socket.write(TRAINING.map { |call| [0, 0, *call].to_msgpack }.join)
      talker.hear_many(TRAINING.size)
      talker
    end
  end
end
