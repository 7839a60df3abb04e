# frozen_string_literal: true

require "msgpack"

module ServerCases
  # Bytes that are no MessagePack-RPC, or too much of it.
  module BadInput
    BROKEN = {
      "garbage" => "GET / HTTP/1.1\r\nHost: here\r\n\r\n", "a byte that begins nothing" => "\xC1".b, "no array" => "\xC0".b,
      "another shape" => [0, 1, "add"].to_msgpack, "another kind" => [3, 1, "add", []].to_msgpack,
      "an id that is no number" => [0, "1", "add", []].to_msgpack, "a method that is no string" => [0, 1, 5, []].to_msgpack,
      "params that are no array" => [0, 1, "add", {}].to_msgpack
    }.freeze
    ENDLESS = {
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

    # Their ends never come: they have an answer, and cost no memory.
    def test_what_is_announced_over_a_limit
      serve
      talkers = ENDLESS.map do |name, bytes|
        talker = connect
        talker.socket.write(bytes)
        assert_match(/\ALimitError: /, talker.hear[2], name)
        assert_serves
        talker
      end
      talkers.each { |talker| talker.socket.close }
      wait_until { count(:connections) == ENDLESS.size }
    end

    def test_what_peers_do_wrong_is_counted_and_told
      told = queue.new
      serve(limits: { message: 100 }, on_error: ->(error, incoming) { told << [error.class.name, incoming&.method_name] })
      talker = connect
      assert_match(/\ANoMethodError/, call(talker, "nothing").first)
      talker.socket.write([2, "no_note", []].to_msgpack)
      assert_serves(talker)
      ["\xC1".b, [2, "note", ["x" * 200, "y" * 300]].to_msgpack].each do |bytes|
        broken = connect
        broken.socket.write(bytes)
        assert_closed(broken)
      end
      wait_until { count(:broken) == 2 && count(:unknown) == 2 }
      told = Array.new(5) { told.pop }.sort_by(&:inspect)
      # Processes tell in no order among them.
      assert_equal([%w[NoMethodError no_note], %w[NoMethodError nothing], %w[Plait::LimitExceeded note]], told.select(&:last))
      assert_equal([["Plait::LimitExceeded", nil], ["Plait::RemoteProtocolError", nil]], told.reject(&:last).sort)
    end

    # The peer would end the connection, and with it all of its calls.
    def test_an_answer_that_is_too_large_is_not_sent
      serve(codec: Plait.const_get(:Protocols)::MessagePackRPC::Codec.new(largest: 1_000))
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
      talker.request(1, "echo", "x" * 1_000, "y" * 1_000)
      assert_closed(talker)
    end

    # One at a time, and in the middle of others; the calls of everybody go on.
    def test_a_request_over_a_limit_is_answered
      serve(limits: { message: 1_000, nesting: 5, elements: 100, method_name: 20 })
      talker = connect
      talker.request(1, "wait", "it")
      assert_equal([:waits, "it"], @service.notes.pop)
      [["echo", "x" * 5_000, :message], ["echo", ["x" * 50] * 30, :message], ["echo", [[[[[1]]]]], :nesting],
       ["echo", [1] * 100, :elements], ["e" * 21, 1, :method_name]].each do |name, value, limit|
        assert_match(/\ALimitError: .*raise it with limits: {#{limit}: …}/, call(talker, name, value).first)
        together = [[0, 2, "add", [1, 2]], [0, 3, name, [value]], [2, name, [value]], [0, 4, "add", [3, 4]]]
        talker.socket.write(together.map(&:to_msgpack).join)
        assert_equal([[2, nil, 3], [3, :limit, nil], [4, nil, 7]],
                     talker.hear_many(3).map { |_, id, error, result| [id, error && :limit, result] }.sort_by(&:first))
      end
      @service.gate("it") << 5
      assert_equal([1, 1, nil, 5], talker.hear)
      wait_until { count(:excessive) == 15 && count(:running).zero? }
      assert_equal(0, count(:broken))
    end

    # However much of that comes, answers that nobody reads are bounded.
    def test_requests_over_a_limit_of_who_does_not_read
      serve(limits: { nesting: 3 }, outbox: 10_000)
      talker = connect
      bytes = [0, 1, "echo", [[[[1]]]]].to_msgpack * 1_000
      sent = 0
      sent += talker.socket.write_nonblock(bytes) while talker.socket.wait_writable(1) && sent < 100_000_000
      assert_operator(sent, :<, 100_000_000)
      assert_serves
    end
  end
end
