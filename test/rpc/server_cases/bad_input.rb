# frozen_string_literal: true

require "msgpack"

module ServerCases
  # Bytes that are no MessagePack-RPC, or too much of it.
  module BadInput
    BROKEN = {
      "garbage" => "GET / HTTP/1.1\r\nHost: here\r\n\r\n", "a byte that begins nothing" => "\xC1".b, "no array" => "\xC0".b,
      "another shape" => [0, 1, "add"].to_msgpack, "another kind" => [3, 1, "add", []].to_msgpack,
      "an id that is no number" => [0, "1", "add", []].to_msgpack, "a method that is no string" => [0, 1, 5, []].to_msgpack,
      "params that are no array" => [0, 1, "add", {}].to_msgpack,
      "four gigabytes announced" => "\x94\x00\x01\xA4echo\x91\xC6\xFF\xFF\xFF\xFF".b,
      "an array of four billion" => "\x94\x00\x01\xA4echo\xDD\xFF\xFF\xFF\xFF".b,
      "a method's name of four gigabytes" => "\x94\x00\x01\xDB\xFF\xFF\xFF\xFF".b,
      "a hundred thousand levels" => "\x94\x00\x01\xA4echo#{"\x91" * 100_000}\x01".b
    }.freeze

    def test_what_is_broken_ends_its_connection_only
      serve
      neighbour = connect
      BROKEN.each do |name, bytes|
        talker = connect
        talker.socket.write(bytes)
        assert_closed(talker)
        assert_serves(neighbour)
      rescue Minitest::Assertion => e
        raise e, "#{name}: #{e.message}"
      rescue Errno::EPIPE, Errno::ECONNRESET
        nil # it was so quick
      end
    end

    def test_what_peers_do_wrong_is_counted_and_told
      told = queue.new
      serve(limits: { message: 100 }, on_error: ->(error, incoming) { told << [error.class.name, incoming&.method_name] })
      talker = connect
      assert_match(/\ANoMethodError/, call(talker, "nothing").first)
      talker.socket.write([2, "no_note", []].to_msgpack)
      assert_serves(talker)
      ["\xC1".b, [2, "note", ["x" * 200]].to_msgpack].each do |bytes|
        broken = connect
        broken.socket.write(bytes)
        assert_closed(broken)
      end
      wait_until { count(:broken) == 2 && count(:unknown) == 2 }
      told = Array.new(4) { told.pop }
      assert_equal([%w[NoMethodError nothing], %w[NoMethodError no_note]], told.select(&:last))
      assert_equal([["Plait::LimitExceeded", nil], ["Plait::RemoteProtocolError", nil]], told.reject(&:last).sort)
    end

    # The peer would end the connection, and with it all of its calls.
    def test_an_answer_that_is_too_large_is_not_sent
      serve(codec: Plait::Protocols::MessagePackRPC::Codec.new(largest: 1_000))
      talker = connect
      talker.request(1, "wait", "it")
      assert_equal([:waits, "it"], @service.notes.pop)
      ["x" * 2_000, ["x"] * 2_000].each do |value|
        assert_match(/\AResultError: .*raise limits/, call(talker, "echo", value).first)
      end
      @service.gate("it") << 5
      assert_equal([1, 1, nil, 5], talker.hear)
    end

    def test_values_that_can_not_be_unpacked_are_answered
      serve
      talker = connect
      talker.socket.write("\x94\x00\x05\xA3add\x92\xD6\xFF\xFF\xFF\xFF\xFF\x01".b) # an extension type nobody knows
      assert_match(/\A(NoMethodError|TypeError)/, talker.hear[2])
      assert_serves(talker)
    end

    # By an end, or by a reset; in a request, in a notification, and in an answer to one of ours.
    def test_cut_at_every_byte
      serve
      neighbour = connect
      [[0, 7, "echo", [{ "a" => "b" * 40 }]], [2, "note", [{ "a" => "b" * 40 }]]].each do |message|
        cut(message.to_msgpack) { connect }
      end
      cut([1, 0, nil, { "a" => "b" * 40 }].to_msgpack) { connect.tap { |talker| ask_back(talker) } }
      assert_serves(neighbour)
      wait_until { count(:connections) == 1 && count(:running).zero? }
      assert_predicate(@service.notes, :empty?)
    end

    def cut(message)
      (1...message.bytesize).each do |size|
        talker = yield
        talker.reset_at_close if size.odd?
        talker.socket.write(message.byteslice(0, size))
        talker.socket.close
      end
    end

    # Has a method of the server's call the peer, and wait for its answer.
    def ask_back(talker)
      talker.request(1, "call_back", "who")
      assert_equal([0, 0, "who", []], talker.hear)
    end

    # However it is cut on its way, it is the same message.
    def test_byte_by_byte
      serve
      talker = connect
      [0, 7, "echo", [{ "a" => "b" * 40 }]].to_msgpack.each_char { |byte| talker.socket.write(byte) }
      assert_equal([1, 7, nil, { "a" => "b" * 40 }], talker.hear)
    end

    def test_random_bytes
      serve
      random = Random.new(Integer(ENV.fetch("SEED", "1")))
      60.times do
        talker = connect
        talker.socket.write((random.rand(2).zero? ? "" : "\x94\x00").b + random.bytes(200))
        talker.socket.close
      rescue Errno::EPIPE, Errno::ECONNRESET
        nil
      end
      assert_serves
    end

    def test_limits_of_ones_own
      serve(limits: { message: 1_000 })
      talker = connect
      assert_equal([nil, "x" * 900], call(talker, "echo", "x" * 900))
      talker.request(1, "echo", "x" * 1_000)
      assert_closed(talker)
    end
  end
end
