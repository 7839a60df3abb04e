# frozen_string_literal: true

require_relative "../../conformance/http1_responses"

module WireCases
  # Each sample of a response, in one piece and byte by byte, read as a whole and piece by piece.
  module Conformance
    HTTP1 = Plait::Protocols::HTTP1
    # Keeps pieces apart, so that each receive gets one.
    PACKETS = Socket.const_defined?(:SOCK_SEQPACKET) ? :SEQPACKET : :STREAM
    DELIVERIES = { whole: nil, byte_by_byte: 1 }.freeze
    KINDS = { "HEAD" => 1, "CONNECT" => 2 }.freeze
    # Names in a sample that are a response's too.
    TOLD = %i[status reason version].freeze

    ::Conformance::HTTP1_RESPONSES.each do |sample|
      DELIVERIES.each do |how, size|
        define_method("test_#{sample.name.tr(" ", "_")}_#{how}") { check(sample, size) }
      end
    end

    def test_the_samples_are_as_many_as_they_should_be
      assert_operator(::Conformance::HTTP1_RESPONSES.size, :>=, 150)
    end

    private

    def check(sample, size)
      deliver(sample, size) { |wire, kind| wire.call(HEAD, nil, kind, PATIENT, nil) }
      deliver(sample, size) do |wire, kind|
        wire.open(HEAD, nil, kind, PATIENT, nil).tap { |response| response.body = pieces(wire).join }
      end
    end

    # What has no end of its own is ended by the peer, and must not pass for whole.
    def deliver(sample, size, &ask)
      ours, theirs = UNIXSocket.pair(size ? PACKETS : :STREAM)
      wire = wire_class.new(ours, endpoint: ENDPOINT, limits: HTTP1::Limits.new(**sample.limits))
      ends = sample.eof || sample.expected[:ends] == :more
      sender = Thread.new { dribble(theirs, sample.bytes, size, ends) }
      assert_outcome(wire, sample, kind(sample), ask)
    ensure
      wire&.close
      sender&.join
      theirs&.close
    end

    # The wire may have seen enough before.
    def dribble(socket, bytes, size, ends)
      size ? bytes.each_char { |byte| socket.write(byte) } : socket.write(bytes)
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
