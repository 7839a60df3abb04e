# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "plait/io/endpoint"
require "plait/io/tls"
require "support/certificates"
require_relative "connection_cases"
require_relative "records"

class ConnectionOverPureLineTest < Minitest::Test
  include ConnectionCases

  def line = Plait::RPC.const_get(:PureLine)

  # Another thread fills the room before this one gets to it, again and again.
  def test_a_sender_that_never_finds_room_looks_at_what_others_have_sent
    with_pair do |connection, talker|
      wire = connection.instance_variable_get(:@line).instance_variable_get(:@wire)
      wire.define_singleton_method(:wait) { |_, limit| limit ? sleep([limit - Plait::Deadline.now, 0].max) && 0 : sleep }
      sender = Thread.new { connection.notify(:own, ["x" * 3_000_000]) }
      talker.hear
      assert(sender.join(60), "it waits without end")
    ensure
      sender.kill.join
    end
  end
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

    # No event of the socket tells of the end: libssl has it.
    def test_an_answer_whose_end_was_read_ahead
      with_pair do |connection, talker|
        answer = Thread.new { connection.request(:give, []) }
        id = talker.hear[1]
        wait_until_asleep([answer])
        payload = Records.send(talker.socket, 16) { |text| [1, id, nil, text] }
        assert(answer.join(60), "the answer was not read to its end")
        assert_equal(payload, answer.value)
      end
    end

    private

    def under_stress
      GC.stress = 1
      yield
    ensure
      GC.stress = false
    end

    def pair
      ours, theirs = UNIXSocket.pair
      server = Thread.new { SERVER.handshake(theirs) }
      [CLIENT.handshake(ours, ENDPOINT), server.value]
    end
  end
end
