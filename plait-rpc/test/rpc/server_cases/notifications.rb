# frozen_string_literal: true

require "msgpack"

module ServerCases
  # Those of one connection are run one after another, in the order in which they were sent.
  module Notifications
    def test_notifications_are_run_in_their_order
      serve
      talker = connect
      random = Random.new(7)
      all = Array.new(300) { |n| [2, "note_late", [n, random.rand(10).zero? ? 0.004 : 0]].to_msgpack }
      all.each_slice(37) { |some| talker.socket.write(some.join) }
      assert_equal([*0...300], Array.new(300) { @service.notes.pop })
    end

    def test_notifications_among_requests_are_run_in_their_order
      serve
      talker = connect
      20.times { call(talker, "note", 0) && @service.notes.pop } # now it is known to be quick
      all = Array.new(600) { |n| [2, n % 50 == 1 ? "note_late" : "note", [n]] }
      (2...600).step(3) { |n| all[n] = [0, n, "echo", [n]] }
      all.map(&:to_msgpack).each_slice(29) { |some| talker.socket.write(some.join) }
      assert_equal((0...600).select { |n| n % 3 == 2 }, talker.hear_many(200).map { |answer| answer[3] }.sort)
      assert_equal((0...600).reject { |n| n % 3 == 2 }, Array.new(400) { @service.notes.pop })
    end

    def test_a_notification_that_waits_holds_up_only_later_ones_of_its_peer
      serve
      talker = connect
      talker.say(2, "wait", ["it"])
      3.times { |n| talker.say(2, "note", [n]) }
      assert_equal([:waits, "it"], @service.notes.pop)
      3.times { assert_serves(talker) }
      connect.say(2, "note", ["another one's"])
      assert_equal("another one's", @service.notes.pop)
      assert_serves(talker)
      @service.gate("it") << true
      assert_equal([0, 1, 2], Array.new(3) { @service.notes.pop })
    end

    # What was quick so far waits all of a sudden, in the middle of those that were read together.
    def test_a_quick_notification_that_waits_holds_up_the_next_ones
      serve
      talker = connect
      20.times { @service.gate("it") << true }
      20.times { call(talker, "wait", "it") && @service.notes.pop }
      told = %w[note wait note note].each_with_index.map { |name, n| [2, name, [name == "wait" ? "it" : n]].to_msgpack }
      talker.socket.write(told.join)
      assert_equal([0, [:waits, "it"]], Array.new(2) { @service.notes.pop })
      assert_serves(talker)
      talker.say(2, "note", [4])
      assert_serves(talker)
      @service.gate("it") << true
      assert_equal([2, 3, 4], Array.new(3) { @service.notes.pop })
    end

    def test_notifications_that_fail_end_only_themselves
      serve
      talker = connect
      %w[boom kill odd note thrown].each_with_index { |name, n| talker.say(2, name, %w[boom note].include?(name) ? [n] : []) }
      talker.socket.write(Array.new(3) { |n| [2, "note", [5 + n]].to_msgpack }.join)
      assert_equal([3, 5, 6, 7], Array.new(4) { @service.notes.pop })
      assert_serves(talker)
    end

    def test_notifications_of_a_connection_that_is_gone_are_run_in_their_order
      serve
      talker = connect
      talker.say(2, "wait", ["it"])
      assert_equal([:waits, "it"], @service.notes.pop)
      talker.socket.write(Array.new(20) { |n| [2, "note_late", [n, 0.001]].to_msgpack }.join)
      assert_serves(talker)
      talker.socket.close
      wait_until { count(:connections).zero? }
      @service.gate("it") << true
      assert_equal([*0...20], Array.new(20) { @service.notes.pop })
    end

    # In C, where one worker waits for what a single connection says next.
    def test_one_after_another_beside_one_that_waits
      serve
      talker = connect
      20.times { call(talker, "note", 0) && @service.notes.pop }
      talker.say(2, "wait", ["it"])
      assert_equal([:waits, "it"], @service.notes.pop)
      30.times { |n| n % 3 == 2 ? talker.say(2, "note", [n]) : assert_serves(talker) }
      @service.gate("it") << true
      assert_equal([*0...30].select { |n| n % 3 == 2 }, Array.new(10) { @service.notes.pop })
      assert_equal([nil, 5], call(talker, "echo", 5))
      wait_until { count(:running).zero? }
    end
  end
end
