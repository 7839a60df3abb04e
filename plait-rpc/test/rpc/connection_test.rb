# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "plait/io/endpoint"
require "plait/io/tls"
require "support/certificates"
require_relative "connection_cases"

class ConnectionOverPureLineTest < Minitest::Test
  include ConnectionCases

  def line = Plait::RPC.const_get(:PureLine)
end

if Plait.const_get(:Native).available?
  class ConnectionOverNativeLineTest < Minitest::Test
    include ConnectionCases

    def line = Plait::RPC.const_get(:NativeLine)
  end

  class ConnectionOverTLSTest < Minitest::Test
    include ConnectionCases

    AUTHORITY = Certificates::Authority.new
    TLS = Plait.const_get(:Io)::TLS
    CLIENT = TLS::Client.new(cert_store: AUTHORITY.store)
    SERVER = TLS::Server.new(**AUTHORITY.issue("IP:127.0.0.1").to_h)
    ENDPOINT = Plait.const_get(:Io)::Endpoint.parse("tls://127.0.0.1:1")

    def line = Plait::RPC.const_get(:NativeLine)

    def test_the_collector_changes_nothing
      with_pair do |connection, talker|
        texts = ["x", "y" * 40_000]
        answers = Thread.new { texts.size.times { talker.hear.then { |_, id, _, (text)| talker.answer(id, text) } } }
        texts.each { |text| assert_equal(text, under_stress { connection.request(:echo, [text]) }) }
        answers.join
      end
    end

    # OpenSSL may have to send before it can receive, or the other way round.
    class Crossed
      attr_reader :to_io

      def initialize(io, receives: [], sends: [])
        @to_io = io
        @receives = receives
        @sends = sends
      end

      def receive_now(length, buffer, **options) = @receives.shift || @to_io.read_nonblock(length, buffer, **options)
      def send_now(bytes, **options) = @sends.shift || @to_io.write_nonblock(bytes, **options)
      def close = @to_io.close
    end

    def test_a_receive_waits_until_openssl_can_send
      with_crossed(receives: %i[wait_writable wait_writable]) do |future, talker|
        talker.answer(talker.hear[1], 5)
        assert_equal(5, future.value(20))
      end
    end

    def test_a_send_waits_until_openssl_has_received
      with_crossed(sends: [:wait_readable]) do |future, talker|
        waiting = Thread.new { future.value(20) }
        wait_until_asleep([waiting])
        talker.say(2, "any", [])
        talker.answer(talker.hear[1], 5)
        assert_equal(5, waiting.value)
      end
    end

    private

    def under_stress
      GC.stress = 1
      yield
    ensure
      GC.stress = false
    end

    def with_crossed(**steps)
      ours, theirs = UNIXSocket.pair
      connection = Plait::RPC.const_get(:Connection).new(Crossed.new(ours, **steps))
      yield connection.call(:m, []), Talker.new(theirs)
    ensure
      connection&.close
      theirs&.close
    end

    def pair
      ours, theirs = UNIXSocket.pair
      server = Thread.new { SERVER.handshake(theirs) }
      [CLIENT.handshake(ours, ENDPOINT), server.value]
    end
  end
end
