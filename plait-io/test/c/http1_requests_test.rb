# frozen_string_literal: true

require "test_helper"
require "support/conformance/http1_requests"
require "support/sanitized"
require "plait/protocols/http1/rules"

# Each request of the table through the engine, under ASan and UBSan: right as a whole, and the same at every split.
class HTTP1RequestsTest < Minitest::Test
  SAMPLES = Conformance::HTTP1_REQUESTS
  FLAGS = { "0" => false, "1" => true }.freeze

  def hard_timeout = super + Sanitized::BUILDING

  class << self
    # @return [Hash{Conformance::HTTP1Sample => Array<Array(String, String)>}] the lines about each, by one run for all
    def transcripts
      @transcripts ||= Sanitized.build(File.join(__dir__, "http1_requests.c"), "http1") do |program|
        corpus = File.join(File.dirname(program), "corpus")
        File.binwrite(corpus, SAMPLES.map { |sample| entry(sample) }.join)
        texts = Sanitized.run(program, corpus).split("\n\n")
        SAMPLES.zip(texts.map { |text| text.lines(chomp: true).map { |line| line.split(/ /, -1) } }).to_h
      end
    end

    private

    def entry(sample)
      limits = Plait.const_get(:Protocols)::HTTP1::Limits.new(**sample.limits).to_a
      "#{[sample.eof ? 1 : 0, *limits, sample.bytes.bytesize].join(" ")}\n".b << sample.bytes << "\n"
    end
  end

  SAMPLES.each do |sample|
    define_method(:"test_#{sample.name.tr(" ", "_")}") do
      lines = self.class.transcripts.fetch(sample)
      sample.rule ? assert_broken(sample, lines) : assert_right(sample, lines)
      sample.expected.except(:ends, :rest).each { |name, value| assert_content(name, value, lines) }
    end
  end

  private

  def assert_broken(sample, lines)
    assert_equal([sample.rule.to_s, sample.offset.to_s], lines.assoc("error")&.drop(1), lines.inspect)
  end

  def assert_right(sample, lines)
    assert_equal(sample.expected.fetch(:ends).to_s, lines.assoc("ends").last, lines.inspect)
    assert_equal(sample.expected.fetch(:rest).b, bytes(lines.assoc("rest").last)) if sample.expected[:ends] == :done
  end

  def assert_content(name, value, lines)
    found = find(name, lines)
    value.nil? ? assert_nil(found, name) : assert_equal(comparable(value), found, name.to_s)
  end

  def find(name, lines)
    return pairs("field", lines) if name == :headers
    return pairs("trailer", lines).then { |pairs| pairs unless pairs.empty? } if name == :trailers

    value = lines.assoc(name.to_s)&.last
    case name
    when :method, :target, :body then bytes(value)
    when :persistent, :upgrade, :expect_continue then FLAGS.fetch(value)
    when :length then value&.to_i
    else value
    end
  end

  def pairs(kind, lines) = lines.filter_map { |name, *texts| texts.map { |text| bytes(text) } if name == kind }

  def bytes(digits) = digits && [digits].pack("H*")

  def comparable(value)
    case value
    when Array then value.map { |pair| pair.map(&:b) }
    when String then value.b
    when Symbol then value.to_s
    else value
    end
  end
end
