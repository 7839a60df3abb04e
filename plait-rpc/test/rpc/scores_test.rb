# frozen_string_literal: true

require "test_helper"
require "plait/rpc"
require "plait/rpc/server/prefork"

class RPCScoresTest < Minitest::Test
  Scores = Plait::RPC::Server.const_get(:Prefork).const_get(:Scores)

  def setup = @scores = Scores.new(3)

  def teardown = @scores.close

  def test_what_a_fork_writes_all_see
    @scores.take(0)
    Process.wait(fork do
      @scores.take(2)
      @scores.lead((1 << 32) - 2) if @scores.to_a == [0, Scores::ABSENT, 0]
      exit!(0)
    end)
    assert_equal([0, Scores::ABSENT, (1 << 32) - 2], @scores.to_a)
  end

  def test_the_worker_with_the_fewest_leads_by_nothing
    @scores.take(1)
    @scores.take(0)
    assert_equal(7, @scores.lead(7))
    @scores.vacate(1)
    assert_equal(0, @scores.lead(7))
  end

  def test_nothing_is_left_behind
    assert_no_leaks { Scores.new(1).close }
  end
end
