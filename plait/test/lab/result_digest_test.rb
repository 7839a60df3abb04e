# frozen_string_literal: true

# bin/test: jruby

require_relative "builders"

class LabResultDigestTest < Minitest::Test
  include LabBuilders

  def test_equal_results_have_equal_digests
    assert_equal(digest_of("a", [1, { b: 2.5 }]).digest, digest_of(+"a", [1, { b: 2.5 }]).digest)
    refute_equal(digest_of("a", "b").digest, digest_of("b", "a").digest)
    refute_equal(digest_of(1).digest, digest_of("1").digest)
  end

  def test_the_first_difference_is_found
    assert_equal(1, digest_of(1, 2, 3).first_difference(digest_of(1, 9, 8)))
    assert_nil(digest_of(1, 2).first_difference(digest_of(1, 2)))
    assert_equal(2, digest_of(1, 2).first_difference(digest_of(1, 2, 3)))
  end

  def test_values_that_can_not_be_marshaled_are_compared_by_what_they_print
    assert_equal(digest_of(proc_of_one_line).digest, digest_of(proc_of_one_line).digest)
    refute_equal(digest_of($stdout).digest, digest_of($stderr).digest)
    one, other = %w[#<It:0x3a> #<It:0x3b5>].map do |shown|
      proc_of_one_line.tap { |made| made.define_singleton_method(:inspect) { shown } }
    end
    assert_equal(digest_of(one).digest, digest_of(other).digest)
  end

  def test_a_custom_digest_decides
    ignore_case = ->(results) { results.map(&:downcase).join(",") }
    same = [digest_of("A", "b", custom: ignore_case), digest_of("a", "B", custom: ignore_case)]
    assert_equal(*same.map(&:digest))
    assert_nil(same.first.first_difference(same.last))
    assert_equal(1, same.first.first_difference(digest_of("a", "x", custom: ignore_case)))
  end

  def test_a_custom_digest_may_be_made_for_the_whole
    whole = ->(results) { results.fetch(1).to_s }
    one, other = digest_of(1, 2, custom: whole), digest_of(1, 3, custom: whole)
    refute_equal(one.digest, other.digest)
    assert_nil(one.first_difference(other))
    error = assert_raises(Plait::UsageError) { digest_of(1, custom: whole) }
    assert_match(/the digest of the results raised IndexError/, error.message)
  end

  def test_failures_are_results_too
    failed = ->(error) { Lab::ResultDigest.new([outcome(0, error: error)]).digest }
    assert_equal(failed[KeyError.new("a")], failed[KeyError.new("b")])
    refute_equal(failed[KeyError.new("a")], failed[IOError.new("a")])
    refute_equal(failed[KeyError.new("a")], digest_of(nil).digest)
  end

  def test_previews_are_short_valid_text
    long, binary = digest_of("é" * 1_000_000, "\xFF\xFE".b).previews
    assert_operator(long.size, :<=, Lab::ResultDigest::PREVIEW_CHARACTERS + 1)
    assert(long.valid_encoding? && binary.valid_encoding?)
    assert_equal("\"\\xFF\\xFE\"", binary)
  end

  private

  def proc_of_one_line = -> {}
end
