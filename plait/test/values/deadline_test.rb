# frozen_string_literal: true

require "test_helper"

class DeadlineTest < Minitest::Test
  def test_counts_down_to_zero
    deadline = Plait::Deadline.after(60)
    assert_in_delta(60, deadline.remaining, 30)
    refute_predicate(deadline, :expired?)
    past = Plait::Deadline.new(Plait::Deadline.now - 1)
    assert_equal(0.0, past.remaining)
    assert_predicate(past, :expired?)
  end

  def test_nil_is_never
    assert_nil(Plait::Deadline.after(nil))
  end

  def test_an_overrun_is_told_in_the_seconds_that_were_asked_for
    texts = [0.0999112, 0.199953, 2, 1.25, 0.0021, 119.99998].map { |seconds| Plait::Deadline.overrun(seconds) }
    assert_equal(%w[0.1 0.2 2 1.25 0.0021 120].map { |seconds| "no end after #{seconds} s" }, texts)
  end

  def test_means_the_same_in_a_fork
    deadline = Plait::Deadline.after(60)
    read, write = IO.pipe
    pid = fork { write.syswrite(deadline.remaining.to_s) && exit!(0) }
    Process.wait(pid)
    write.close
    assert_in_delta(deadline.remaining, Float(read.read), 30)
  ensure
    [read, write].compact.each(&:close)
  end
end
