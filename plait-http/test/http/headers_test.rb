# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "support/run_queue"
require "plait/http"

class HTTPHeadersTest < Minitest::Test
  Headers = Plait::HTTP::Headers

  def test_names_are_found_whatever_their_case
    headers = Headers.new("Content-Type" => "a/b", x_request_id: 7)
    ["content-type", "CONTENT-TYPE", :content_type, :"Content-Type"].each do |name|
      assert_equal(["a/b", ["a/b"], true], [headers[name], headers.get_all(name), headers.key?(name)])
    end
    assert_equal("7", headers["X-Request-Id"])
    assert_equal([nil, [], false], [headers["other"], headers.get_all("other"), headers.key?("other")])
  end

  def test_names_and_order_stay_as_they_were_given
    pairs = [%w[B 1], %w[a 2], %w[B 3], %w[b 4]]
    assert_equal(pairs, Headers.new(pairs).to_a)
    assert_equal("B: 1\r\na: 2\r\nB: 3\r\nb: 4\r\n", Headers.new(pairs).to_s)
    assert_equal("1, 3, 4", Headers.new(pairs)["b"])
    assert_equal({ "b" => "1, 3, 4", "a" => "2" }, Headers.new(pairs).to_h)
  end

  def test_cookies_are_not_joined
    headers = Headers.new("Set-Cookie" => ["a=1, 2", "b=3"])
    assert_equal(["a=1, 2", ["a=1, 2", "b=3"]], [headers["set-cookie"], headers.get_all("set-cookie")])
    assert_equal({ "set-cookie" => "a=1, 2\nb=3" }, headers.to_h)
  end

  def test_values
    headers = Headers.new("n" => 5, "nil" => nil, "many" => [1, nil, "two"], "space" => " \t a b\t ", "empty" => "")
    assert_equal([%w[n 5], %w[many 1], %w[many two], ["space", "a b"], ["empty", ""]], headers.to_a)
  end

  def test_white_space_inside_a_value_takes_linear_time
    value = "a#{" \t" * 30_000}b"
    seconds = Support::RunQueue.seconds { assert_equal(value, Headers.new("X" => "\t #{value} \t")["x"]) }
    assert_operator(seconds, :<, 3)
  end

  def test_what_can_not_be_sent_is_refused
    ["a\r\nB: c", "a\n", "\ra", "a\0", "\x7f", "a\x1bb"].each do |value|
      error = assert_raises(Plait::UsageError, value.inspect) { Headers.new("X" => value) }
      assert_match(/the header X has the byte .* at position \d/, error.message)
      assert_raises(Plait::UsageError) { Headers.new.set("X", value) }
      assert_raises(Plait::UsageError) { Headers.new.merge("X" => value) }
    end
    ["", "a b", "a:", "a\r\n", "\u00e9", "a\0", nil].each do |name|
      assert_match(/can't be the name/, assert_raises(Plait::UsageError) { Headers.new(name => "1") }.message)
    end
    assert_match(/Hash or pairs/, assert_raises(Plait::UsageError) { Headers.new("X: y") }.message)
  end

  def test_what_are_no_pairs
    ["A: secret", 5, ["A: secret"], %w[A secret], [%w[A b secret]], [["A"]]].each do |fields|
      error = assert_raises(Plait::UsageError, fields.inspect) { Headers.new(fields) }
      assert_match(/takes a Hash or pairs/, error.message)
      refute_match(/secret/, error.message)
    end
  end

  def test_a_refused_value_is_not_shown
    error = assert_raises(Plait::UsageError) { Headers.new("Authorization" => "secret\n") }
    refute_match(/secret/, error.message)
  end

  def test_bytes_of_any_kind
    headers = Headers.new("A" => "caf\u00e9", "B" => "caf\xE9".b, "C" => "\xff", "a" => "\xE9".b)
    assert_equal(["café", "caf\xE9".b, "\xff".b], [headers.get_all("a").first, headers["b"], headers["c"]])
    assert_equal("caf\u00e9, ".b + "\xE9".b, headers["a"].b)
    assert_equal("A: caf\xC3\xA9\r\nB: caf\xE9\r\nC: \xFF\r\na: \xE9\r\n".b, headers.to_s)
    assert_equal(3, headers.to_h.size)
    assert_predicate(headers.inspect, :valid_encoding?)
  end

  # Of encodings in which even a line break may be another byte, or a letter look like one.
  def test_texts_of_any_encoding
    wide = [Encoding::UTF_16LE, Encoding::UTF_16BE, Encoding::UTF_32LE]
    wide.each do |encoding|
      assert_equal("X: \u4e8c\r\n".b, Headers.new("X".encode(encoding) => "\u4e8c".encode(encoding)).to_s)
      { "X" => "a\r\nB: c", "\u6161" => "1", "X\n" => "1" }.each do |name, value|
        assert_raises(Plait::UsageError) { Headers.new(name.encode(encoding) => value.encode(encoding)) }
      end
    end
    broken = "\x00\xd8".dup.force_encoding(Encoding::UTF_16LE)
    assert_raises(Plait::UsageError) { Headers.new("X" => broken) }
    assert_raises(Plait::UsageError) { Headers.new(broken => "1") }
  end

  def test_changes
    headers = Headers.new([%w[A 1], %w[B 2], %w[a 3]])
    assert_equal([%w[B 2], %w[A 4]], headers.set("A", 4).to_a)
    headers["b"] = [5, 6]
    assert_equal([%w[A 4], %w[b 5], %w[b 6]], headers.to_a)
    assert_equal([%w[A 4]], headers.delete("B").to_a)
    assert_equal([%w[A 4], %w[A 5]], headers.add("A", 5).to_a)
    assert_equal([2, false], [headers.size, headers.empty?])
  end

  def test_merging_replaces_and_makes_a_new_one
    headers = Headers.new([%w[A 1], %w[B 2], %w[a 3]]).freeze
    assert_equal([%w[B 2], %w[a 9]], headers.merge("a" => 9).to_a)
    assert_equal([%w[A 1], %w[a 3]], headers.merge(b: nil).to_a)
    assert_equal([%w[A 1], %w[a 3], %w[B 8], %w[b 9]], headers.merge([["B", 8], ["b", 9]]).to_a)
    assert_equal(headers.to_a, headers.merge(nil).to_a)
    assert_equal([%w[A 1], %w[B 2], %w[a 3]], headers.to_a)
    refute_predicate(headers.merge({}), :frozen?)
  end

  def test_what_is_frozen_stays
    headers = Headers.new("A" => "1").freeze
    assert_raises(FrozenError) { headers.add("B", "2") }
    assert_raises(FrozenError) { headers.delete("A") }
    copy = headers.dup.add("B", "2")
    assert_equal([1, 2], [headers.size, copy.size])
    assert_raises(FrozenError) { headers.to_a.first << "x" }
    headers.to_a << %w[C 3]
    assert_equal(1, headers.size)
  end

  def test_enumerable
    headers = Headers.new([%w[A 1], %w[B 2]])
    assert_equal(%w[A B], headers.map(&:first))
    assert_equal(%w[A1 B2], headers.map { |name, value| name + value })
    assert_equal([%w[B 2]], headers.drop_while { |name, _| name == "A" })
    assert_equal([2, ["A", "1"]], [headers.each.size, headers.each.next])
    assert_same(headers, headers.each { |name, value| name + value })
  end

  def test_from
    headers = Headers.new("A" => 1)
    assert_same(headers, Headers.from(headers))
    assert_equal(headers, Headers.from("A" => "1"))
    assert_equal(0, Headers.from(nil).size)
    refute_equal(headers, Headers.new("A" => "2"))
    refute_equal(headers, [%w[A 1]])
  end

  def test_secrets_are_not_shown
    headers = Headers.new("Authorization" => "Bearer abc", "Cookie" => "abc", "Proxy-Authorization" => "abc", "X" => "shown")
    refute_match(/abc/, headers.inspect)
    assert_match(/shown/, headers.inspect)
  end
end
