# frozen_string_literal: true

require "msgpack"

module ConnectionCases
  # Strings that are received straight into their memory, with the head of what comes behind them.
  module LargeAnswers
    SIZES = [0, 3, 600, 65_000, 70_000, 200_000, 400_000].freeze

    # Large and small ones in a row, cut anywhere: each is whole, of its own bytes, and its caller's.
    def test_a_row_of_answers_of_any_size
      random = Random.new(11)
      with_pair do |connection, talker|
        values = Array.new(60) { |number| answer_of(SIZES.sample(random: random), number) }
        futures = values.map { connection.call(:any, []) }
        bytes = futures.zip(values).shuffle(random: random).map { |future, value| [1, future.id, nil, value].to_msgpack }.join
        writer = Thread.new { in_pieces(bytes, random) { |piece| talker.socket.write(piece) } }
        values.zip(futures) { |value, future| assert_same_string(value, future.value) }
        writer.join
        assert_still_usable(connection, talker, skip: futures.size)
      end
    end

    def test_a_batch_of_large_answers
      with_pair do |connection, talker|
        batch = connection.batch(:any, [1, 2, 3, 4])
        ids = talker.hear_many(4).map { |call| call[1] }
        values = [answer_of(100_000, 1), "small", answer_of(300_000, 2), ["in", "ä" * 100_000]]
        writer = Thread.new { ids.zip(values).reverse_each { |id, value| talker.answer(id, value) } }
        values.zip(batch.values) { |value, result| assert_equal(value, result) }
        assert_equal(Encoding::UTF_8, batch.values[2].encoding)
        writer.join
        assert_still_usable(connection, talker)
      end
    end

    # Its bytes are dropped, wherever they are cut; what stands before and behind it reaches its caller.
    def test_an_answer_over_the_limit_is_lost_for_its_call_alone
      limits = Plait.const_get(:Protocols)::MessagePackRPC.limits(message: 5_000)
      random = Random.new(12)
      ["x" * 5_001, "x" * 1_000_000, ["x" * 100_000, 1, "y" * 3_000], { "a" => "b" * 4_000, "c" => "d" * 2_000 }].each do |value|
        with_pair(limits: limits) do |connection, talker|
          one, lost, two = Array.new(3) { connection.call(:any, []) }
          bytes = [[1, one.id, nil, 1], [1, lost.id, nil, value], [1, two.id, nil, 2]].map(&:to_msgpack).join
          writer = Thread.new { in_pieces(bytes, random) { |piece| talker.socket.write(piece) } }
          assert_equal([1, 2], [one.value, two.value])
          assert_kind_of(Plait::LimitExceeded, lost.error)
          assert_match(/any has no answer, and may have run/, lost.error.message)
          refute_predicate(lost.error, :retry_safe?)
          writer.join
          assert_still_usable(connection, talker, skip: 3)
        end
      end
    end

    # It is followed for twice the limit, or so much behind a string that is too long.
    def test_an_answer_over_the_limit_without_an_end_ends_the_connection
      limits = Plait.const_get(:Protocols)::MessagePackRPC.limits(message: 5_000)
      [[1] * 11_000, ["x" * 5_000, "y" * 50_000]].each do |value|
        with_pair(limits: limits) do |connection, talker|
          future = connection.call(:any, [])
          other = connection.call(:other, [])
          talker.answer(future.id, value)
          assert_kind_of(Plait::LimitExceeded, future.error)
          assert_kind_of(Plait::LimitExceeded, other.error)
        end
      end
    end

    # An error may be as large, with something small beside it.
    def test_a_large_error
      with_pair do |connection, talker|
        future = connection.call(:any, [])
        talker.hear
        writer = Thread.new { talker.say(1, future.id, "no" * 100_000, "beside") }
        error = assert_raises(Plait::RemoteError) { future.value }
        assert_equal("no" * 100_000, error.error)
        writer.join
        assert_still_usable(connection, talker)
      end
    end

    private

    def answer_of(size, number)
      text = "#{number},".ljust(size, "abcdefg")
      number.odd? ? text.b : text
    end

    def in_pieces(bytes, random)
      at = 0
      while at < bytes.bytesize
        size = random.rand < 0.3 ? random.rand(1..400) : random.rand(1..300_000)
        yield bytes.byteslice(at, size)
        at += size
      end
    end

    def assert_same_string(expected, actual)
      assert_equal([expected.encoding, expected.bytesize], [actual.encoding, actual.bytesize])
      assert(expected.eql?(actual), "other bytes")
    end
  end
end
