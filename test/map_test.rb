# frozen_string_literal: true

require_relative "test_helper"
require_relative "support/house/map"

class MapTest < Minitest::Test
  ROOT = Support::ROOT

  def test_the_map_in_the_guide_is_true
    map = Support::House::Map.new(ROOT)
    assert_equal(map.block, map.written, "guides/internals.md no longer shows the code as it is: run `rake map`")
  end

  def test_a_new_arrow_makes_it_untrue
    in_a_project("plait/lib/plait/lab/trial.rb" => "") do |root|
      assert(Support::House::Map.new(root).write)
      assert_predicate(Support::House::Map.new(root), :true?)
      add(root, "plait/lib/plait/cli/lab.rb", 'require_relative "../lab/trial"')
      refute_predicate(Support::House::Map.new(root), :true?)
    end
  end

  def test_the_rest_of_the_guide_is_left_alone
    in_a_project("plait/lib/plait/lab/trial.rb" => "") do |root|
      map = Support::House::Map.new(root)
      map.write
      refute(map.write)
      text = File.read(File.join(root, Support::House::Map::FILE))
      assert(text.start_with?("before\n<!-- map") && text.end_with?("-->\nafter\n"), text)
    end
  end

  def test_a_guide_without_marks_is_refused
    in_a_project(Support::House::Map::FILE => "nothing") do |root|
      assert_raises(Support::House::Map::Unmarked) { Support::House::Map.new(root).write }
    end
  end

  private

  def in_a_project(files)
    guide = "before\n#{Support::House::Map::BEGINNING}\n#{Support::House::Map::ENDING}\nafter\n"
    Dir.mktmpdir("plait-test-") do |root|
      { Support::House::Map::FILE => guide }.merge(files).each { |path, text| add(root, path, text) }
      yield root
    end
  end

  def add(root, path, text)
    FileUtils.mkdir_p(File.dirname(File.join(root, path)))
    File.write(File.join(root, path), text)
  end
end
