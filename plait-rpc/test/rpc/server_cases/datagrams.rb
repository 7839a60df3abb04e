# frozen_string_literal: true

require "msgpack"
require "socket"

module ServerCases
  # Requests and notifications that come by UDP.
  module Datagrams
    def test_datagrams
      sender = datagrams
      assert_equal([1, 7, nil, 3], ask(sender, [0, 7, "add", [1, 2]]))
      assert_equal([1, 8, "KeyError: no", nil], ask(sender, [0, 8, "boom", ["no"]]))
      sender.send([2, "note", [5]].to_msgpack, 0)
      assert_equal(5, @service.notes.pop)
      assert_equal([1, 9, nil, "x" * 65_000], ask(sender, [0, 9, "big", [65_000]]))
    end

    def test_answers_go_to_who_has_asked
      senders = Array.new(5) { datagrams }
      senders.each_with_index { |sender, index| sender.send([0, index, "wait", ["it"]].to_msgpack, 0) }
      5.times { @service.notes.pop }
      5.times { |value| @service.gate("it") << value }
      answers = senders.map { |sender| MessagePack.unpack(sender.recv(65_536)) }
      assert_equal([*0...5], answers.map { |answer| answer[1] })
      assert_equal([*0...5], answers.map(&:last).sort)
    end

    def test_an_answer_too_large_for_a_datagram
      message = "ResultError: the answer has 70009 bytes, and a datagram takes 65507: use tcp:// or unix:// for what is large"
      assert_equal([1, 7, message, nil], ask(datagrams, [0, 7, "big", [70_000]]))
    end

    # They have no answer: who is said to have sent them may know nothing of it.
    def test_datagrams_that_are_no_message
      seen = queue.new
      sender = datagrams(on_error: ->(error, incoming) { seen << [error.class.name, incoming] })
      request = [0, 1, "add", [1, 2]].to_msgpack
      ["", "GET / HTTP/1.1", "\xC1".b, [1, 7, nil, 3].to_msgpack, request + request, request + "\xC0".b,
       *(1...request.bytesize).map { |size| request.byteslice(0, size) },
       "\x94\x00\x01\xA4echo#{"\x91" * 60_000}\x01".b,
       "\x94\x00\x01\xA4echo\x91\xC6\xFF\xFF\xFF\xFF".b].each.with_index(1) do |bytes, number|
        sender.send(bytes, 0)
        assert_equal([1, 7, nil, 3], ask(sender, [0, 7, "add", [1, 2]]), bytes[0, 40].inspect)
        error, incoming = seen.pop
        assert_includes(%w[Plait::RemoteProtocolError Plait::LimitExceeded], error, bytes[0, 40].inspect)
        assert_nil(incoming)
        assert_equal(number, count(:broken))
      end
    end

    def test_datagrams_beyond_the_queue
      sender = datagrams(queue: 2, limit: 1)
      sender.send([0, 0, "wait", ["it"]].to_msgpack, 0)
      @service.notes.pop
      4.times { |id| sender.send([0, id + 1, "wait", ["it"]].to_msgpack, 0) }
      refused = Array.new(2) { MessagePack.unpack(sender.recv(1_000)) }
      assert_equal([[3, "ServerBusyError: 2 requests wait already"], [4, "ServerBusyError: 2 requests wait already"]],
                   refused.map { |answer| answer[1, 2] })
      3.times { |value| @service.gate("it") << value }
      assert_equal([0, 1, 2], Array.new(3) { MessagePack.unpack(sender.recv(1_000)).last }.sort)
    end

    def test_datagrams_that_were_taken_are_answered
      sender = datagrams
      sender.send([0, 7, "wait", ["it"]].to_msgpack, 0)
      @service.notes.pop
      @server.stop(within: 30)
      wait_until { ask(sender, [0, 1, "add", [1, 2]])[2] == "ServerStoppingError: the server is stopping" }
      @service.gate("it") << :answered
      assert_equal([1, 7, nil, "answered"], MessagePack.unpack(sender.recv(1_000)))
      assert(@thread.join(20))
    end

    def test_no_streams_by_datagrams
      error = ask(datagrams, [0, 1, "rpc.stream", [1, 1]])[2]
      assert_equal("Plait::UnsupportedError: streams need a connection: this came by a datagram", error)
    end

    def test_no_secrets_by_datagrams
      server = RPC::Server.new(@service, on: mechanism, secret: "sesame")
      error = assert_raises(Plait::UsageError) { server.listen("udp://127.0.0.1:0") }
      assert_match(/a secret belongs to a connection/, error.message)
    end

    private

    # @return [UDPSocket] connected to a server
    def datagrams(**options)
      @server || serve(at: "udp://127.0.0.1:0", **options)
      socket = UDPSocket.new
      socket.connect(@endpoint.host, @endpoint.port)
      @talkers << Talker.new(socket)
      socket
    end

    def ask(socket, message)
      socket.send(message.to_msgpack, 0)
      assert(socket.wait_readable(20), "no answer came")
      MessagePack.unpack(socket.recv(65_536))
    end
  end
end
