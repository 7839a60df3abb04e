# frozen_string_literal: true

module ConnectionCases
  # Answers to nested requests of an old Neovim.
  module Order
    # Keeps what comes.
    class Tray
      attr_reader :taken

      def initialize
        @taken = Queue.new
      end

      def take(incoming) = @taken << incoming
      def closed(_connection, _error) = nil
    end

    # Takes now a longer, now a shorter time.
    class UnevenTray < Tray
      def initialize
        super
        @random = Random.new(3)
      end

      def take(incoming)
        sleep(@random.rand * 0.002)
        super
      end
    end

    # Whoever of those who wait for answers finds them.
    def test_notifications_are_handed_on_in_their_order
      tray = UnevenTray.new
      with_pair(dispatcher: tray) do |connection, talker|
        threads = Array.new(4) { Thread.new { 50.times { connection.request(:m, []) } } }
        200.times do |number|
          id = talker.hear[1]
          talker.say(2, "told", [number])
          talker.answer(id, nil)
        end
        threads.each(&:join)
        assert_equal([*0...200], Array.new(200) { tray.taken.pop.arguments.first })
      end
    end

    def test_the_last_request_is_answered_first
      with_tray do |connection, talker, tray|
        [1, 2, 3].each { |id| talker.request(id, "m") }
        3.times { tray.taken.pop }
        connection.respond(1, "one")
        connection.respond_error(2, "two")
        talker.say(2, "nothing", [])
        connection.respond(3, "three")
        assert_equal([[1, 3, nil, "three"], [1, 2, "two", nil], [1, 1, nil, "one"]], talker.hear_many(3))
      end
    end

    def test_requests_that_come_later_are_answered_before
      with_tray do |connection, talker, tray|
        talker.request(1, "m")
        tray.taken.pop
        talker.request(2, "m")
        tray.taken.pop
        connection.respond(2, "two")
        assert_equal([1, 2, nil, "two"], talker.hear)
        talker.request(3, "m")
        tray.taken.pop
        connection.respond(1, "one")
        connection.respond(3, "three")
        assert_equal([[1, 3, nil, "three"], [1, 1, nil, "one"]], talker.hear_many(2))
      end
    end

    private

    def with_tray
      tray = Tray.new
      with_pair(dispatcher: tray, lifo: true) do |connection, talker|
        reader = Thread.new { assert_raises(Plait::ConnectionClosed) { connection.run } }
        yield(connection, talker, tray)
      ensure
        connection.close
        reader&.join
      end
    end
  end
end
