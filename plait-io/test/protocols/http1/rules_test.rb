# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "plait/protocols/http1"

class HTTP1RulesTest < Minitest::Test
  HTTP1 = Plait.const_get(:Protocols)::HTTP1

  def test_each_makes_an_error_that_names_it
    HTTP1::Rules::ALL.each do |name, rule|
      error = HTTP1::Rules.error(name, 7, HTTP1::Limits.new)
      assert_equal([name, 7, rule.section, rule.status], [error.rule, error.offset, error.section, error.status])
      assert_match(/#{Regexp.escape(rule.text)}, at byte 7.*#{rule.section}/, error.message)
    end
  end

  def test_each_limit_is_one_of_the_limits
    limits = HTTP1::Rules::ALL.values.filter_map(&:limit)
    assert_equal(HTTP1::Limits::DEFAULTS.keys.sort, limits.sort)
  end

  def test_kinds
    kinds = %i[bare_cr head_limit truncated_head].map { |name| HTTP1::Rules.error(name, 0, HTTP1::Limits.new).class }
    assert_equal([Plait::RemoteProtocolError, Plait::LimitExceeded, Plait::TruncatedError], kinds)
    assert_operator(Plait::LimitExceeded, :<, Plait::RemoteProtocolError)
  end

  def test_errors_travel_between_processes
    error = Marshal.load(Marshal.dump(HTTP1::Rules.error(:head_limit, 3, HTTP1::Limits.new)))
    assert_equal([:head_limit, 3, :head, 65_536], [error.rule, error.offset, error.limit, error.maximum])
  end
end
