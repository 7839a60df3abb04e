# frozen_string_literal: true

require "test_helper"
require_relative "server_cases"

class RPCServerOnHybridTest < Minitest::Test
  include ServerCases

  def mechanism = :hybrid

  # Two runs of it hold up the loop; from then on it runs on the pool, and others are served meanwhile.
  def test_a_method_that_never_waits
    threads = Thread::Queue.new
    spin = lambda do
      threads << Thread.current
      ended = Plait::Deadline.after(0.03)
      nil until ended.expired?
    end
    serve({ spin: spin, add: ->(a, b) { a + b }, here: -> { threads << Thread.current } })
    talker = connect
    4.times { call(talker, "spin") }
    talker.say(2, "here", [])
    ran = Array.new(5) { threads.pop }
    on_the_loop = ran.map { |thread| thread.equal?(ran.last) }
    assert_equal([true, true, false, false, true], on_the_loop)
  end

  def test_a_method_that_waits_stays_in_its_fiber
    threads = Thread::Queue.new
    serve({ wait: -> { (threads << Thread.current) && sleep(0.02) } })
    talker = connect
    4.times { call(talker, "wait") }
    assert_equal(1, Array.new(4) { threads.pop }.uniq.size)
  end
end
