# frozen_string_literal: true

module ConnectionCases
  # Where a server reads.
  module Serving
    # Keeps what is given to it, and says that there is room for so many.
    class Reception
      attr_reader :taken, :ends, :leftovers
      attr_accessor :places

      def initialize
        @taken = []
        @ends = []
        @leftovers = 0
        @places = 1000
      end

      def reads? = true
      def room?(_connection) = @taken.size < @places
      alias place? room?
      def take(incoming) = @taken << incoming
      def closed(_connection, error) = @ends << error
      def unsent(_connection) = @leftovers += 1
      def aside(_connection) = yield
    end

    def test_requests_and_notifications_are_handed_on_in_their_order
      with_served do |connection, talker, reception|
        talker.request(7, "add", 1, 2)
        talker.say(2, "log", ["x"])
        assert_equal(:idle, connection.read_available)
        assert_equal([[7, "add"], [nil, "log"]], reception.taken.map { |incoming| [incoming.id, incoming.method_name] })
        assert_equal([1, 2], connection.codec.unpack(reception.taken.first.params))
      end
    end

    def test_half_a_message_is_told
      with_served do |connection, talker, reception|
        bytes = [0, 1, "add", [1, 2]].to_msgpack
        talker.socket.write(bytes[0, 5])
        assert_equal(:partial, connection.read_available)
        refute_predicate(connection, :idle?)
        talker.socket.write(bytes[5..])
        assert_equal(:idle, connection.read_available)
        assert_equal(1, reception.taken.size)
        assert_predicate(connection, :idle?)
      end
    end

    def test_nothing_there_is_idle
      with_served { |connection, _| assert_equal(:idle, connection.read_available) }
    end

    def test_answers
      with_served do |connection, talker|
        connection.respond(1, [1, 2])
        connection.respond_error(2, "no")
        connection.respond_error(3, ".NoMethodError", ["more"])
        assert_equal([[1, 1, nil, [1, 2]], [1, 2, "no", nil], [1, 3, ".NoMethodError", ["more"]]], talker.hear_many(3))
      end
    end

    def test_answers_may_leave_together
      with_served do |connection, talker|
        connection.respond(1, 1, flush: false)
        connection.respond_error(2, "no", flush: false)
        assert_operator(connection.unsent, :>, 0)
        assert(connection.flush)
        assert_equal(0, connection.unsent)
        assert_equal([[1, 1, nil, 1], [1, 2, "no", nil]], talker.hear_many(2))
      end
    end

    def test_where_there_is_no_room_requests_stay
      with_served do |connection, talker, reception|
        reception.places = 1
        3.times { |id| talker.request(id, "add") }
        assert_equal(:full, connection.read_available)
        assert_equal([0], reception.taken.map(&:id))
        reception.places = 3
        assert_equal(:idle, connection.read_available)
        assert_equal([0, 1, 2], reception.taken.map(&:id))
      end
    end

    def test_a_large_request_stays_where_there_is_no_room
      with_served do |connection, talker, reception|
        reception.places = 0
        writer = Thread.new { talker.request(1, "store", "x" * 300_000) }
        read_until(connection) { |state| state == :full }
        reception.places = 1
        read_until(connection) { reception.taken.any? }
        assert_equal(["x" * 300_000], connection.codec.unpack(reception.taken.first.params))
      ensure
        writer&.join
      end
    end

    def test_who_waits_for_an_answer_gets_it_although_there_is_no_room
      with_served do |connection, talker, reception|
        reception.places = 0
        future = connection.call(:ask, [])
        talker.request(5, "add")
        talker.answer(future.id, "well")
        connection.read_available
        assert_equal("well", future.value)
        assert_equal([5], reception.taken.map(&:id))
      end
    end

    def test_an_answer_that_the_reader_brings_wakes_who_waits
      with_served do |connection, talker|
        asking = Thread.new { connection.request(:ask, []) }
        id = talker.hear[1]
        talker.answer(id, "well")
        read_until(connection) { !asking.alive? }
        assert_equal("well", asking.value)
      end
    end

    def test_a_slow_peer_never_makes_an_answer_wait
      with_served(outbox: 100_000) do |connection, talker, reception|
        connection.respond(1, "x" * 5_000_000)
        assert_equal(1, reception.leftovers)
        assert_predicate(connection, :congested?)
        refute(connection.flush)
        reader = Thread.new { talker.hear }
        Support::Waiting.wait_until { connection.flush }
        refute_predicate(connection, :congested?)
        assert_equal(5_000_000, reader.value[3].size)
      end
    end

    def test_the_peer_leaves
      with_served do |connection, talker, reception|
        future = connection.call(:ask, [])
        talker.hear
        talker.socket.close
        assert_equal(:closed, connection.read_available)
        assert_equal([nil], reception.ends)
        assert_raises(Plait::ConnectionClosed) { future.value }
        assert_predicate(connection.io, :closed?)
      end
    end

    def test_the_peer_breaks_the_protocol
      with_served do |connection, talker, reception|
        talker.socket.write("\xc1")
        assert_equal(:closed, connection.read_available)
        assert_instance_of(Plait::RemoteProtocolError, reception.ends.first)
        assert_equal(1, reception.ends.size)
      end
    end

    def test_an_answer_after_the_end_is_dropped
      with_served do |connection, _talker, reception|
        connection.close
        connection.respond(1, 1)
        connection.respond_error(1, 1)
        assert_equal([nil], reception.ends)
      end
    end

    def test_a_peer_that_is_gone_ends_it_at_an_answer
      with_served do |connection, talker, reception|
        talker.socket.close
        connection.respond(1, 1)
        assert_predicate(connection, :closed?)
        assert_equal(1, reception.ends.size)
      end
    end

    private

    def with_served(**options)
      reception = Reception.new
      with_pair(dispatcher: reception, **options) { |connection, talker| yield(connection, talker, reception) }
    end

    def read_until(connection)
      Support::Waiting.wait_until do
        connection.to_io.wait_readable(0.01)
        yield connection.read_available
      end
    end
  end
end
