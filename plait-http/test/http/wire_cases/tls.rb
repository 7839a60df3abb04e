# frozen_string_literal: true

require "plait/io"
require "plait/io/tls"
require "support/certificates"
require "support/io_cases"

module WireCases
  # The same by TLS: what OpenSSL keeps in itself, session tickets, and ends that are none.
  module TLS
    Io = Plait.const_get(:Io)
    extend IoCases::ClassMethods

    AUTHORITY = Certificates::Authority.new
    LEAF = AUTHORITY.issue("DNS:localhost", "IP:127.0.0.1")
    # Answers with the body it gets, or with its own.
    MIRROR = lambda do |peer|
      while (head = peer.head)
        body = peer.read(head[/Content-Length: (\d+)/, 1].to_i)
        2.times { peer.say("HTTP/1.1 200 OK\r\nContent-Length: #{body.bytesize}\r\n\r\n#{body}") && peer.head }
      end
    end

    [nil, :TLS1_2].each do |version|
      everywhere("TLS request after request #{version}") do
        with_tls_wire(ANSWER[OK], version: version) do |wire|
          5.times { assert_equal(["hello", true, false], [get(wire).body, wire.reusable?, wire.stale?]) }
        end
      end
    end

    everywhere("TLS large bodies both ways") do
      body = Random.new(4).bytes(3_000_000)
      with_tls_wire(MIRROR) do |wire|
        assert_equal(body.hash, post(wire, body).body.hash)
        opened(wire)
        found = pieces(wire)
        assert_equal(body.hash, found.join.hash)
        assert_operator(found.map(&:bytesize).max, :<=, 64 * 1024)
        assert_predicate(wire, :reusable?)
      end
    end

    everywhere("TLS byte by byte") do
      with_tls_wire(->(peer) { 2.times { peer.head && peer.say(CHUNKED, by: 1) } && peer.stall }) do |wire|
        ways.each_value do |way|
          response = way.call(wire)
          assert_equal(["hello world", [%w[X-Sum 9]], true], [response.body, response.trailers, wire.reusable?])
        end
      end
    end

    # Somebody may have cut it.
    everywhere("TLS an end without a goodbye is none") do
      ["HTTP/1.1 200 OK\r\n\r\nabc", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"].each do |bytes|
        ways.each_value do |way|
          with_tls_wire(->(peer) { peer.head && peer.say(bytes) && peer.cut }) do |wire|
            assert_raises(Plait::ConnectionClosed, Plait::TruncatedError) { way.call(wire) }
            assert_predicate(wire, :closed?)
          end
        end
      end
    end

    everywhere("TLS an end with a goodbye") do
      ways.each_value do |way|
        with_tls_wire(->(peer) { peer.head && peer.say("HTTP/1.1 200 OK\r\n\r\nabc") && peer.close }) do |wire|
          assert_equal(["abc", false], [way.call(wire).body, wire.reusable?])
        end
        truncated = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"
        with_tls_wire(->(peer) { peer.head && peer.say(truncated) && peer.close }) do |wire|
          assert_raises(Plait::TruncatedError) { way.call(wire) }
        end
      end
    end

    everywhere("TLS stale") do
      with_tls_wire(->(peer) { peer.head && peer.say(OK) && peer.close }) do |wire|
        assert_equal("hello", get(wire).body)
        wait_until { wire.stale? }
        assert_predicate(wire, :closed?)
      end
    end

    # They are in the same record, so that no event tells of them.
    def test_tls_bytes_nobody_asked_for
      with_tls_wire(SAY["#{"HTTP/1.1 200 OK\r\nContent-Length: 16000\r\n\r\n#{"x" * 16_000}"}#{OK}"]) do |wire|
        assert_equal(16_000, get(wire).body.bytesize)
        assert_predicate(wire, :stale?)
      end
    end

    everywhere("TLS timeouts") do
      with_tls_wire(SAY[""]) do |wire|
        error = assert_raises(Plait::ReadTimeout) { get(wire, timeouts: Timeouts.new(first_byte: 0.05)) }
        assert_match(/no answer in time/, error.message)
        assert_predicate(wire.io.to_io, :closed?)
      end
      done = Queue.new
      with_tls_wire(->(peer) { peer.head && done.pop }) do |wire|
        assert_raises(Plait::WriteTimeout) { post(wire, "x" * 30_000_000, timeouts: Timeouts.new(read: 0.1)) }
        assert_predicate(wire, :closed?)
      ensure
        done << true
      end
    end

    # The socket has bytes, and there is nothing to read.
    everywhere("TLS a timeout behind half a record") do
      with_tls_wire(->(peer) { peer.head && peer.socket.to_io.write("\x17\x03\x03") && peer.stall }) do |wire|
        assert_raises(Plait::ReadTimeout) { get(wire, timeouts: Timeouts.new(first_byte: 0.2)) }
        assert_predicate(wire, :closed?)
      end
    end

    everywhere("TLS a refusal that comes early is returned") do
      script = ->(peer) { peer.head && peer.say("HTTP/1.1 413 Too large\r\nContent-Length: 3\r\n\r\nbig") && peer.stall }
      with_tls_wire(script) do |wire|
        assert_equal([413, "big"], post(wire, "x" * 20_000_000).then { |response| [response.status, response.body] })
        assert_predicate(wire, :closed?)
      end
    end

    everywhere("TLS closed while somebody waits") do |mechanism|
      with_tls_wire(SAY[""]) do |wire|
        waiting = mechanism.beside { get(wire) }
        wait_until { busy?(wire) }
        sleep(0.01)
        wire.close
        assert_match(/closed on this side/, assert_raises(Plait::ConnectionClosed) { waiting.call }.message)
        wait_until { wire.io.to_io.closed? }
      end
    end

    # The native ones share their buffers.
    %i[threads fibers].each do |mechanism|
      define_method("test_tls_many_at_once_on_#{mechanism}") do
        serve(->(peer) { Crowds::REPEATING.call(peer.secure(server_context(nil))) }) do |server|
          wrong = Plait.map(1..15, on: mechanism, limit: 15) do |number|
            wire = tls_wire(server)
            Array.new(5) do |round|
              path = ((number * 100) + round).to_s
              path unless answer_of(wire, path, round).body == "#{path} " * (path.to_i % 7 * 3000)
            end.compact
          ensure
            wire&.close
          end
          assert_empty(wrong.flatten)
        end
      end
    end

    private

    def with_tls_wire(script, version: nil)
      serve(->(peer) { script.call(peer.secure(server_context(version))) }) do |server|
        wire = tls_wire(server)
        yield(wire, server)
      ensure
        wire&.close
      end
    end

    def tls_wire(server)
      client = Io::TLS::Client.new(cert_store: AUTHORITY.store)
      socket = client.handshake(server.connect, Io::Endpoint.tls("localhost", server.port), deadline: Plait::Deadline.after(60))
      wire_class.new(socket, endpoint: ENDPOINT)
    end

    def server_context(version)
      OpenSSL::SSL::SSLContext.new.tap do |context|
        context.add_certificate(LEAF.certificate, LEAF.key)
        context.max_version = version if version
      end
    end
  end
end
