# frozen_string_literal: true

require "support/conformance/http1_lenient"

module WireCases
  # Answers that break a rule which curl lets pass: read whole, in each form of delivery, and never on a connection that goes on.
  module Lenient
    HTTP1 = Plait.const_get(:Protocols)::HTTP1
    LIMITS = HTTP1::Limits.new(lenient: true, head: 300 * 1024, headers: 1_000)
    STRICT = HTTP1::Limits.new

    ::Conformance::HTTP1_LENIENT.each do |sample|
      Conformance::DELIVERIES.each_key do |how|
        define_method("test_lenient_#{sample.name.tr(" ", "_")}_#{how}") { check_lenient(sample, how) }
      end
      define_method("test_strict_#{sample.name.tr(" ", "_")}") { check_refused(sample.bytes, nil, :whole, STRICT) }
    end

    ::Conformance::HTTP1_REFUSED.each do |name, (bytes, rule)|
      Conformance::DELIVERIES.each_key do |how|
        define_method("test_refused_#{name.tr(" ", "_")}_#{how}") { check_refused(bytes, rule, how, LIMITS) }
      end
    end

    # A head that is read again counts as the first one did.
    def test_lenient_interim_answers_are_limited
      ["HTTP/1.1 103 Early Hints\n\n", "HTTP/1.1 103 Early Hints\r\nX: a\x01b\r\n\r\n"].each do |head|
        Conformance::DELIVERIES.each_key { |how| check_refused(head * 100, :interim_limit, how, LIMITS) }
      end
    end

    # Random damage to lenient answers: an error, or an answer, and nothing else.
    def test_lenient_answers_that_are_damaged
      random = Random.new(7)
      200.times do
        bytes = ::Conformance::HTTP1_LENIENT.sample(random: random).bytes.dup
        rand_damage(bytes, random)
        send_answer(bytes, :whole, LIMITS) { |wire| wire.call(HEAD, nil, 0, PATIENT, nil) }
      rescue Plait::RemoteProtocolError, Plait::ConnectionClosed
        nil
      end
    end

    private

    def check_lenient(sample, how)
      send_answer(sample.bytes, how, LIMITS) do |wire|
        assert_lenient(sample, wire.call(HEAD, nil, 0, PATIENT, nil))
        refute_predicate(wire, :reusable?) unless sample.name.match?(/200 fields|100 kB/)
      end
      send_answer(sample.bytes, how, LIMITS) do |wire|
        assert_lenient(sample, wire.open(HEAD, nil, 0, PATIENT, nil).tap { |response| response.body = pieces(wire).join })
      end
    end

    def assert_lenient(sample, response)
      assert_equal([200, sample.body], [response.status, response.body])
      sample.fields.each { |name, value| assert_equal(value, response[name]) }
    end

    def check_refused(bytes, rule, how, limits)
      error = send_answer(bytes, how, limits) do |wire|
        assert_raises(Plait::RemoteProtocolError) { wire.call(HEAD, nil, 0, PATIENT, nil) }
      end
      assert_equal(rule, error.rule) if rule
    end

    def rand_damage(bytes, random)
      random.rand(1..3).times { bytes.setbyte(random.rand(bytes.bytesize), random.rand(256)) }
    end

    def send_answer(bytes, how, limits)
      ours, theirs = UNIXSocket.pair(how == :byte_by_byte && bytes.bytesize < 2_000 ? Conformance::PACKETS : :STREAM)
      wire = wire_class.new(ours, endpoint: ENDPOINT, limits: limits)
      sender = Thread.new { dribble(theirs, bytes, how, true) }
      yield wire
    ensure
      wire&.close
      sender&.join
      theirs&.close
    end
  end
end
