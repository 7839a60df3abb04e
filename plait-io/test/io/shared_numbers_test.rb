# frozen_string_literal: true

require "test_helper"
require "plait/io/shared_numbers"

class SharedNumbersTest < Minitest::Test
  def setup = @numbers = Plait::Io::SharedNumbers.new(3, 7)

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
    assert_no_leaks { Plait::Io::SharedNumbers.new(1).close }
  end
end
