# frozen_string_literal: true

require "test_helper"
require "plait/io/workers"

class IoWorkersSlotTest < Minitest::Test
  Workers = Plait.const_get(:Io)::Workers

  # A worker without a process.
  Stub = Struct.new(:ready, :status, :age, :standstill, :orders) do
    def hear = nil
    def ready? = ready
    def ended? = !status.nil?
    def close = nil
    def silence = 0
    def report = { counters: { requests: 1 } }
    def pid = 7
    def obituary = "exit status 3"
    def misused = false
    def overdue? = false
    def tell(*order) = (self.orders ||= []) << order
    def end_within(seconds) = tell(:end_within, seconds)
  end

  def setup
    @notices = []
    @plan = Workers::Plan.of(notice: ->(line) { @notices << line }, name: "worker %d")
  end

  def test_a_system_that_gives_no_process_is_asked_again
    answers = [Errno::EAGAIN, Errno::ENOMEM, ThreadError]
    slot = Workers::Slot.new(3, @plan) { answers.empty? ? Stub.new(true) : raise(answers.shift, "none") }
    wait_until(timeout: 20) { slot.tap(&:fill).worker }
    slot.tell_news
    assert_equal(3, @notices.size)
    assert_match(/\Aworker 3 can't be started: .*; trying again in 0 s\z/, @notices[0])
    assert_match(/trying again in 1 s\z/, @notices[1])
    assert_match(/trying again in 2 s\z/, @notices[2])
    assert_predicate(slot, :ready?)
  end

  # A worker of the age 10 s has lived long, and ends the row of those that have not.
  def test_the_pause_grows_where_no_worker_lives_long
    ages = [0, 9, 9.9, 10, 0]
    slot = Workers::Slot.new(0, @plan) { Stub.new(true, nil, ages.shift) }
    5.times do
      wait_until(timeout: 60) { slot.tap(&:fill).worker }
      slot.worker.status = :ended
      slot.look
    end
    slot.tell_news
    assert_match(/\Aworker 0 \(pid 7\) has died after 0 s: exit status 3; another one takes its place\z/, @notices[0])
    assert_equal(["1 s", "2 s", nil, "1 s"], @notices.drop(1).map { |line| line[/takes its place in (\d+ s)\z/, 1] })
  end

  def test_a_worker_whose_loop_stands_still_is_given_up
    plan = Workers::Plan.of(**@plan.to_h, silence: 3, grace: 0.5)
    worker = Stub.new(true, nil, 1, { seconds: 2.9, text: "GET /loop has" })
    slot = Workers::Slot.new(0, plan) { worker }
    slot.tap(&:fill).look
    assert_same(worker, slot.worker)
    worker.standstill[:seconds] = 3
    slot.tap(&:look).tell_news
    assert_nil(slot.worker)
    assert_equal([[:retire, 0.5, 0], [:end_within, 0.5]], worker.orders)
    assert_equal(["worker 0 (pid 7) is given up, and killed in 0.5 s (worker_timeout): GET /loop has"], @notices)
  end

  def test_a_replacement_for_which_there_is_no_process
    workers = [Stub.new(true)]
    slot = Workers::Slot.new(0, @plan) { workers.shift || raise(Errno::EAGAIN) }
    slot.fill
    slot.replace
    refute_predicate(slot, :changing?)
    assert_predicate(slot, :ready?)
  end
end
