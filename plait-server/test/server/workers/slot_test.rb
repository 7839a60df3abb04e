# frozen_string_literal: true

require "test_helper"
require "plait/server"

class ServerSlotTest < Minitest::Test
  # A worker without a process.
  Stub = Struct.new(:ready, :status) do
    def hear = nil
    def ready? = ready
    def ended? = !status.nil?
    def close = nil
    def silence = 0
    def report = { counters: { requests: 1 } }
  end

  def setup
    @notices = []
    @plan = Plait::Server::Workers::Plan.of(notice: ->(line) { @notices << line }, name: "worker %d")
  end

  def test_a_system_that_gives_no_process_is_asked_again
    answers = [Errno::EAGAIN, Errno::ENOMEM, ThreadError]
    slot = Plait::Server::Workers::Slot.new(3, @plan) { answers.empty? ? Stub.new(true) : raise(answers.shift, "none") }
    wait_until(timeout: 20) { slot.tap(&:fill).worker }
    slot.tell_news
    assert_equal(3, @notices.size)
    assert_match(/\Aworker 3 can't be begun: .*; trying again in 0 s\z/, @notices[0])
    assert_match(/trying again in 1 s\z/, @notices[1])
    assert_match(/trying again in 2 s\z/, @notices[2])
    assert_predicate(slot, :ready?)
  end

  def test_a_replacement_for_which_there_is_no_process
    workers = [Stub.new(true)]
    slot = Plait::Server::Workers::Slot.new(0, @plan) { workers.shift || raise(Errno::EAGAIN) }
    slot.fill
    slot.replace
    refute_predicate(slot, :changing?)
    assert_predicate(slot, :ready?)
  end
end
