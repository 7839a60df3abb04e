# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "support/fresh_ruby"

class DescriptorLimitTest < Minitest::Test
  def test_lifts_the_soft_limit_and_leaves_the_hard_one
    hard = Process.getrlimit(:NOFILE).last
    soft, after = limits_after(256, hard)
    assert_operator soft, :>, 256
    assert_equal hard, after
  end

  def test_a_low_hard_limit_is_enough_for_no_more
    assert_equal [500, 500], limits_after(100, 500)
  end

  def test_a_soft_limit_that_suffices_is_kept
    hard = Process.getrlimit(:NOFILE).last
    assert_equal [hard, hard], limits_after(hard, hard)
  end

  private

  def limits_after(soft, hard)
    Support::FreshRuby.run(<<~RUBY).out.split.map(&:to_i)
      require "plait/suites"
      require "plait/suites/http/origin"
      Process.setrlimit(:NOFILE, #{soft}, #{hard})
      Plait::Suites::DescriptorLimit.lift
      puts Process.getrlimit(:NOFILE)
    RUBY
  end
end
