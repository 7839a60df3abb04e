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
