# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "plait/suites/http/origin"

class OriginBodyTest < Minitest::Test
  Body = Plait::Suites::Origin::Body

  def test_follows_from_target_and_size
    assert_equal "/a?1\n/a?1\n/a", Body.of("/a?1", 12)
    assert_equal "", Body.of("/a", 0)
    refute_equal Body.of("/a?1", 100), Body.of("/a?2", 100)
  end

  def test_slabs_make_the_whole
    [0, 1, 6, 7, 8, 50, 1_000].each do |size|
      slabs = []
      Body.new("/path?", size).each_slab(7) { |slab| slabs << slab }
      assert_equal Body.of("/path?", size), slabs.join
      assert(slabs.all? { |slab| slab.bytesize <= 7 })
    end
  end
end
