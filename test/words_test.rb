# frozen_string_literal: true

require_relative "test_helper"
require_relative "support/house/sentences"
require_relative "support/house/words"
require "tmpdir"

class WordsTest < Minitest::Test
  Words = Support::House::Words

  Words::PLACES.each_key do |place|
    define_method("test_no_more_of_them_in_#{place}") do
      uses = Words.new.uses(place)
      limit = Words.limits.fetch(place)
      advice = "`git diff` shows the new ones:\n#{uses.join("\n")}"
      assert_operator(uses.size, :<=, limit, advice)
    end
  end

  # Decisions and changelogs say what was, and stay as they are.
  def test_no_sentence_of_a_page_is_too_long
    pages = Dir.glob(%w[README.md CONTRIBUTING.md bench/README.md guides/*.md plait*/README.md], base: Support::ROOT)
    long = pages.flat_map do |page|
      Support::House::Sentences.new(File.read(File.join(Support::ROOT, page))).long.map { |sentence| "#{page}: #{sentence}" }
    end
    assert_empty(long, "more than #{Support::House::Sentences::MOST} words")
  end

  def test_which_sentences_are_long
    long = "A #{(["word"] * 20).join(" ")}."
    assert_equal([long], Support::House::Sentences.new("Short. #{long} Short.\n\n    #{long}\n\n```\n#{long}\n```\n").long)
    assert_equal([long], Support::House::Sentences.new("- #{long[0, 46]}\n  #{long[47..]}\n- Short.\n").long)
    assert_empty(Support::House::Sentences.new("| one | two |\n| #{"word " * 15} | #{"word " * 15} |\n").long)
  end

  def test_a_noun_counts_as_a_part_of_a_name_and_in_the_plural
    assert_found(%w[lane lane lane lane], "lane_count = LaneCount.new(LANE_COUNT, lanes)")
    assert_found([], "planes = Plane.new(air_planes)")
    assert_found(["last will", "last will"], "last_will # The last will")
  end

  def test_english_counts_as_a_word_only
    assert_found(%w[begun he], "# He has begun")
    assert_found([], "the_header = Header.new # there")
  end

  def test_code_in_a_guide_may_name_what_was
    assert_found(["crew"], "A crew, once `Crew`", "guides/upgrading.md", "guides")
  end

  def test_a_term_of_the_field_is_right_in_its_place
    assert_found([], "lease = Lease.new", "plait-shard/lib/plait/shard/one.rb", "plait-shard")
    assert_found(%w[lease lease], "lease = Lease.new")
  end

  def test_a_use_says_where_and_what_instead
    in_a_project("plait/lib/plait/one.rb", "\n# a crew") do |words|
      assert_equal(["plait/lib/plait/one.rb:2: crew: say worker pool"], words.uses("plait"))
      assert_equal(1, words.counts.values.sum)
    end
  end

  private

  def assert_found(expected, text, path = "plait/lib/plait/one.rb", place = "plait")
    in_a_project(path, text) do |words|
      assert_equal(expected, words.uses(place).map { |use| use[/: ([a-z ]+): say/, 1] }.sort, text)
    end
  end

  def in_a_project(path, text)
    Dir.mktmpdir("plait-test-") do |root|
      FileUtils.mkdir_p(File.dirname(File.join(root, path)))
      File.write(File.join(root, path), text)
      yield Words.new(root)
    end
  end
end
