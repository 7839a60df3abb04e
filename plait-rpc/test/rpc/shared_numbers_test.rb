# frozen_string_literal: true

require "test_helper"
require "plait/rpc"
require "plait/rpc/server/prefork"

class SharedNumbersTest < Minitest::Test
  Numbers = Plait::RPC::Server.const_get(:Prefork).const_get(:SharedNumbers)

  def setup = @numbers = Numbers.new(3, 7)

  def teardown = @numbers.close

  def test_what_a_fork_writes_all_see
    @numbers[0] = 1
    Process.wait(fork do
      @numbers[2] = (1 << 32) - 1 if @numbers.to_a == [1, 7, 7]
      exit!(0)
    end)
    assert_equal([1, 7, (1 << 32) - 1], @numbers.to_a)
  end

  def test_nothing_is_left_behind
    assert_no_leaks { Numbers.new(1).close }
  end
end
