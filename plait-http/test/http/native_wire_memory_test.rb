# frozen_string_literal: true

require "test_helper"
require "digest"
require "objspace"
require "plait/http"
require "plait/http/pure_wire"
require_relative "raw_server"

if Plait.const_get(:Native).available?
  # What the wire in C does with memory: its own, the garbage collector's, and buffers that all wires share.
  class NativeWireMemoryTest < Minitest::Test
    OK = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
    CHUNKED = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n6\r\n world\r\n0\r\nX-Sum: 9\r\n\r\n"
    LONG = "b" * 70_000
    PARTS = ["HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 ", "OK\r\nX: y\r\nContent-Length: 70000\r\n\r\n", LONG].freeze
    HEAD = "GET / HTTP/1.1\r\nHost: origin\r\n\r\n"

    def get(wire, path = "/") = wire.get(path, 0, "Host: origin\r\n", nil, nil)

    def whole_by_pieces(wire)
      wire.open(HEAD, nil, 0, nil, nil)
      body = +""
      while (piece = wire.read_piece)
        body << piece
      end
      body
    end

    # Another process answers each request by these parts: what it allocates is not counted, nor does it fill our heap.
    def with_wire(parts)
      ours, theirs = UNIXSocket.pair
      server = fork { answer(theirs, ours, parts) }
      theirs.close
      yield(wire = Plait::HTTP.const_get(:NativeWire).new(ours))
    ensure
      wire&.close
      Process.wait(server)
    end

    def answer(theirs, ours, parts)
      ours.close
      peer = RawServer::Peer.new(theirs)
      peer.say(parts.first) && parts.drop(1).each { |part| sleep(0.002) && peer.say(part) } while peer.head
    ensure
      exit!(0)
    end

    def stressed
      GC.compact if GC.respond_to?(:compact)
      GC.stress = true
      yield
    ensure
      GC.stress = false
    end

    def objects_made
      yield
      GC.disable
      before = GC.stat(:total_allocated_objects)
      yield
      GC.stat(:total_allocated_objects) - before
    ensure
      GC.enable
    end

    %i[sequence fibers].each do |mechanism|
      define_method("test_under_gc_stress_and_compaction_on_#{mechanism}") do
        [[PARTS, LONG], [CHUNKED.scan(/.{1,40}/m), "hello world"]].each do |parts, body|
          with_wire(parts) do |wire|
            Plait.map([0], on: mechanism) do
              response = stressed { get(wire, +"/a?b") }
              assert_equal([body, "/a?b"], [response.body, stressed { response.url }])
              assert_equal(body, stressed { wire.call(HEAD, nil, 0, nil, nil) }.body)
              assert_equal(body, stressed { whole_by_pieces(wire) })
            end
          end
        end
      end
    end

    # As a file is sent: the next piece comes into the String that the last one was in, also while the socket is full.
    class Reused
      def each
        piece = String.new(capacity: 65_536)
        6.times { |number| yield piece.replace((97 + number).chr * 65_536) }
      end
    end

    def test_pieces_in_one_string_under_gc_stress_and_compaction
      ours, theirs = UNIXSocket.pair
      server = fork do
        ours.close
        theirs.gets("\r\n\r\n")
        sleep(0.2) # the socket is full
        sum = Digest::MD5.hexdigest(theirs.read(6 * 65_536))
        theirs.write("HTTP/1.1 200 OK\r\nContent-Length: 32\r\n\r\n#{sum}")
      ensure
        exit!(0)
      end
      theirs.close
      wire = Plait::HTTP.const_get(:NativeWire).new(ours)
      head = "POST / HTTP/1.1\r\nHost: origin\r\nContent-Length: #{6 * 65_536}\r\n\r\n"
      sum = Digest::MD5.hexdigest((97..102).map { |byte| byte.chr * 65_536 }.join)
      assert_equal(sum, stressed { wire.call(head, Reused.new, 0, nil, nil) }.body)
    ensure
      wire&.close
      Process.wait(server)
    end

    def test_a_head_of_an_ordinary_call_under_gc_stress_and_compaction
      url = +"http://origin/a?b"
      fields = { "X-One" => "1" * 200, one_more: 2 }
      parts = ["POST", url, 13, "Host: origin\r\nX-One: of the client\r\n", fields, "text/plain", 5, "a=1"]
      head = Plait.const_get(:NativeHTTP).method(:head)
      expected = head.call(*parts)
      assert_includes(expected, "POST /a?b HTTP/1.1\r\nHost: origin\r\n")
      assert_equal([expected] * 20, stressed { Array.new(20) { head.call(*parts) } })
    end

    # With all timeouts set: they cost none.
    def test_an_answer_is_two_objects
      timeouts = Plait::HTTP::Timeouts.new(first_byte: 60, read: 60, total: 60)
      with_wire([OK]) do |wire|
        many = -> { 500.times { wire.get("/", 0, "Host: origin\r\n", timeouts, nil) } }
        made = Plait.run(on: :fibers) { |scope| scope.async { objects_made(&many) }.value }
        assert_operator(made.fdiv(500), :<=, 2.2)
      end
    end

    def test_a_small_answer_takes_little_memory
      with_wire(["HTTP/1.1 200 OK\r\nX: #{"x" * 200}\r\nContent-Length: 612\r\n\r\n#{"b" * 612}"]) do |wire|
        responses = Array.new(10) { get(wire) }
        assert_operator(responses.sum { |response| memory_of(response) + memory_of(response.body) } / 10, :<=, 1_000)
        assert_operator(memory_of(wire), :<=, 1_000)
      end
    end

    def memory_of(object) = ObjectSpace.memsize_of(object)

    # Also when who shared it is gone.
    def test_heads_that_are_the_same_are_shared_and_others_are_not
      count = 0
      script = lambda do |peer|
        while peer.head
          peer.say("HTTP/1.1 200 OK\r\nX: #{count / 2}\r\nContent-Length: 1\r\n\r\n#{count}")
          count += 1
        end
      end
      RawServer.open(script) do |server|
        wire = Plait::HTTP.const_get(:NativeWire).new(server.connect)
        responses = Array.new(6) { get(wire) }
        wire.close
        responses.shift
        GC.start
        assert_equal(%w[0 1 1 2 2], responses.map { |response| response["x"] })
        assert_equal(%w[1 2 3 4 5], responses.map(&:body))
      end
    end

    # The native wire and its twin say the same of whatever a peer sends, however it is cut.
    def test_the_twins_agree_about_broken_answers
      random = Random.new(7)
      samples = [OK, CHUNKED, PARTS.join, "HTTP/1.0 200 OK\r\n\r\nuntil the end", "HTTP/1.1 204 No\r\n\r\n"]
      400.times do
        bytes = mutated(samples.sample(random: random).b, random)
        cuts = Array.new(random.rand(4)) { random.rand(bytes.bytesize + 1) }.sort
        way = %i[get whole_by_pieces].sample(random: random)
        native, pure = [Plait::HTTP.const_get(:NativeWire), Plait::HTTP.const_get(:PureWire)].map { |twin| outcome(twin, bytes, cuts, way) }
        assert_equal(pure, native, "#{way} of #{bytes[0, 300].inspect} cut at #{cuts}")
      end
    end

    def mutated(bytes, random)
      random.rand(3).times do
        at = random.rand(bytes.bytesize)
        case random.rand(4)
        when 0 then bytes.setbyte(at, random.rand(256))
        when 1 then bytes[at, random.rand(1..5)] = ""
        when 2 then bytes.insert(at, ["\r", "\n", " ", "5", "\r\n"].sample(random: random))
        else bytes = bytes[0..at]
        end
        break if bytes.empty?
      end
      bytes
    end

    def outcome(twin, bytes, cuts, way)
      ours, theirs = UNIXSocket.pair
      wire = twin.new(ours, endpoint: "unix:///origin")
      sender = Thread.new { send_in_parts(theirs, bytes, cuts) }
      what = send(way, wire)
      what.is_a?(String) ? what : [what.status, what.body, what.trailers, what.head_bytes, what.encoded?]
    rescue Plait::Error => e
      [e.class, *(e.rule if e.respond_to?(:rule)), *(e.offset if e.respond_to?(:offset))]
    ensure
      [wire, theirs].each(&:close)
      sender.join
    end

    def send_in_parts(socket, bytes, cuts)
      [0, *cuts, bytes.bytesize].each_cons(2) { |from, to| socket.write(bytes.byteslice(from...to)) && Thread.pass }
      socket.close_write
    rescue IOError, SystemCallError
      nil # the wire has seen enough
    end
  end
end
