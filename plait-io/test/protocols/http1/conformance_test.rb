# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "support/conformance/http1_requests"
require "support/conformance/http1_responses"
require_relative "transcript"

# Each response of the table: right as a whole, and the same byte by byte and at every split, in the engine and its twin.
# The requests are in test/c/http1_requests_test.rb: Ruby parses none.
class HTTP1ConformanceTest < Minitest::Test
  HEAD = Transcript::HEAD
  NAMES = { headers: :to_a, persistent: :persistent?, upgrade: :upgrade?, length: :content_length }.freeze

  Transcript::ENGINES.each_key do |engine|
    Conformance::HTTP1_RESPONSES.each do |sample|
      define_method(:"test_#{engine}_#{sample.name.tr(" ", "_")}") { check(engine, sample) }
    end
  end

  def test_the_tables_are_as_large_as_they_should_be
    assert_operator(Conformance::HTTP1_RESPONSES.size, :>=, 150)
    assert_operator(Conformance::HTTP1_REQUESTS.size, :>=, 200)
  end

  def test_each_rule_is_broken_by_a_sample
    broken = [*Conformance::HTTP1_RESPONSES, *Conformance::HTTP1_REQUESTS].filter_map(&:rule)
    # A field value is only judged so in what we send.
    assert_empty(Plait.const_get(:Protocols)::HTTP1::Rules::ALL.keys - broken - [:field_value])
  end

  private

  def check(engine, sample)
    whole = transcript(engine, sample, [sample.bytes])
    sample.rule ? assert_broken(sample, whole) : assert_right(sample, whole)
    assert_contents(sample, whole)
    assert_equal(whole, transcript(engine, sample, sample.bytes.each_char.to_a), "byte by byte")
    sample.bytes.size.times do |at|
      pieces = [sample.bytes[0...at], sample.bytes[at..]]
      assert_equal(whole, transcript(engine, sample, pieces), "split at #{at}")
    end
  end

  def transcript(engine, sample, pieces)
    Transcript.of(engine, pieces, request: sample.request, limits: sample.limits, eof: sample.eof)
  end

  def assert_broken(sample, transcript)
    assert_equal([sample.rule, sample.offset], transcript[:error], transcript.inspect)
  end

  def assert_right(sample, transcript)
    assert_nil(transcript[:error])
    kind = transcript[:events].last&.first
    assert_equal(sample.expected.fetch(:ends), %i[done closed].include?(kind) ? kind : :more)
    assert_equal(sample.expected.fetch(:rest).b, transcript[:rest]) unless sample.expected[:ends] == :more
  end

  def assert_contents(sample, transcript)
    sample.expected.except(:ends, :rest).each do |name, value|
      found = find(transcript[:events], name)
      value.nil? ? assert_nil(found, name) : assert_equal(value, found, name.to_s)
    end
  end

  def find(events, name)
    case name
    when :body then events.filter_map { |kind, data| data if kind == :data }.join
    when :trailers then events.assoc(:trailers)&.last
    when :interim then of_heads(events, :status).grep(100..199)
    else of_heads(events, NAMES.fetch(name, name)).last
    end
  end

  def of_heads(events, name)
    events.filter_map { |kind, *values| values if kind == :head }.map { |values| values[HEAD.index(name)] }
  end
end
