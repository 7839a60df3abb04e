# frozen_string_literal: true

require "support/conformance/http1_responses"

module WireCases
  # Each sample of a response, in one piece, byte by byte and with delays, read as a whole and piece by piece.
  module Conformance
    HTTP1 = Plait.const_get(:Protocols)::HTTP1
    # Keeps pieces apart, so that each receive gets one.
    PACKETS = Socket.const_defined?(:SOCK_SEQPACKET) ? :SEQPACKET : :STREAM
    DELIVERIES = {
      whole: ->(socket, bytes) { socket.write(bytes) },
      byte_by_byte: ->(socket, bytes) { bytes.each_char { |byte| socket.write(byte) } },
      with_delays: lambda do |socket, bytes|
        size = [bytes.bytesize / 4, 1].max
        0.step(bytes.bytesize - 1, size) { |at| socket.write(bytes.byteslice(at, size)) && sleep(0.001) }
      end
    }.freeze
    KINDS = { "HEAD" => 1, "CONNECT" => 2 }.freeze
    # Names in a sample that are a response's too.
    TOLD = %i[status reason version].freeze

    ::Conformance::HTTP1_RESPONSES.each do |sample|
      DELIVERIES.each_key do |how|
        define_method("test_#{sample.name.tr(" ", "_")}_#{how}") { check(sample, how) }
      end
    end

    def test_the_samples_are_as_many_as_they_should_be
      assert_operator(::Conformance::HTTP1_RESPONSES.size, :>=, 150)
    end

    private

    def check(sample, how)
      deliver(sample, how) { |wire, kind| wire.call(HEAD, nil, kind, PATIENT, nil) }
      deliver(sample, how) do |wire, kind|
        wire.open(HEAD, nil, kind, PATIENT, nil).tap { |response| response.body = pieces(wire).join }
      end
    end

    # What has no end of its own is ended by the peer, and must not pass for whole.
    def deliver(sample, how, &ask)
      ours, theirs = UNIXSocket.pair(how == :byte_by_byte ? PACKETS : :STREAM)
      wire = wire_class.new(ours, endpoint: ENDPOINT, limits: HTTP1::Limits.new(**sample.limits))
      ends = sample.eof || sample.expected[:ends] == :more
      sender = Thread.new { dribble(theirs, sample.bytes, how, ends) }
      assert_outcome(wire, sample, kind(sample), ask)
    ensure
      wire&.close
      sender&.join
      theirs&.close
    end

    # The wire may have seen enough before.
    def dribble(socket, bytes, how, ends)
      DELIVERIES.fetch(how).call(socket, bytes)
      socket.close_write if ends
    rescue SystemCallError
      nil
    end

    def kind(sample) = KINDS.fetch(sample.request[:method], 0) | (sample.request[:upgrade] ? 4 : 0)

    def assert_outcome(wire, sample, kind, ask)
      return assert_whole(wire, sample, ask.call(wire, kind)) if whole?(sample)

      error = assert_raises(Plait::RemoteProtocolError, Plait::ConnectionClosed) { ask.call(wire, kind) }
      assert_kind_of(expected_error(sample), error)
      assert_equal([sample.rule, sample.offset], [error.rule, error.offset]) if sample.rule
      assert_predicate(wire, :closed?)
    end

    # The end of the input is the end of a body without a length.
    def whole?(sample)
      sample.rule.nil? && (sample.expected[:ends] == :done || sample.expected[:framing] == :close)
    end

    def expected_error(sample)
      return Plait::RemoteProtocolError if sample.rule

      sample.expected[:ends] == :closed ? Plait::ConnectionClosed : Plait::TruncatedError
    end

    def assert_whole(wire, sample, response)
      expected = sample.expected
      told = expected.slice(*TOLD)
      assert_equal(told, told.to_h { |name, _| [name, response.public_send(name)] })
      assert_equal(expected[:headers], response.headers.to_a) if expected[:headers]
      assert_equal(expected[:body].b, response.body) if expected[:body]
      assert_equal(expected[:trailers] || [], response.trailers)
      expected[:framing] == :tunnel ? assert_tunnel(wire, expected[:rest].b) : assert_end(wire, expected)
    end

    def assert_end(wire, expected)
      refute_predicate(wire, :reusable?) if expected[:persistent] == false
      assert_predicate(wire, :reusable?) if expected[:persistent] && expected[:rest].to_s.empty?
      assert_equal(!wire.reusable?, wire.closed?)
    end

    # Bytes that have come with the head, and those that came later.
    def assert_tunnel(wire, expected)
      assert_raises(Plait::UsageError) { get(wire) }
      io, rest = wire.detach
      rest += io.readpartial(65_536) while rest.bytesize < expected.bytesize
      assert_equal(expected, rest)
    ensure
      io&.close
    end
  end
end
