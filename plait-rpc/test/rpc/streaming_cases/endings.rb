# frozen_string_literal: true

module StreamingCases
  # Streams that do not come to their end, and what is left of them.
  module Endings
    def test_who_stops_reading_a_result_ends_it
      with_client do |client|
        client.stream(:export, 10_000).first(2)
        assert_equal(:over, @service.notes.pop)
        stream = client.stream(:export, 10_000)
        stream.close
        assert_equal(:over, @service.notes.pop)
        assert_raises(Plait::UsageError) { stream.to_a }
        assert_raises(RuntimeError) { client.stream(:export, 10_000) { raise "enough" } }
        assert_equal(:over, @service.notes.pop)
        reading = Thread::Queue.new
        reader = Thread.new { client.stream(:export, 10_000) { (reading << true) && sleep } }
        reading.pop
        reader.kill.join
        assert_equal(:over, @service.notes.pop)
        assert_equal(3, client.call(:add, 1, 2))
      end
      assert_no_streams
    end

    def test_who_stops_reading_an_argument_ends_it
      with_client do |client|
        over = Thread::Queue.new
        endless = Enumerator.new do |out|
          loop { out << "x" }
        ensure
          over << true
        end
        assert_equal("x", client.stream(:first_of, endless))
        assert(over.pop)
        assert_equal("unread", client.stream(:unread, endless))
        assert_equal(3, client.call(:add, 1, 2))
      end
      assert_no_streams
    end

    # Also where the wish for more could not be sent: the method runs.
    def test_a_connection_that_goes_in_the_middle_of_a_result_is_no_reason_to_call_again
      with_client do |client|
        stream = client.stream(:export, 10_000)
        pull = stream.instance_variable_get(:@source)
        error = assert_raises(Plait::ConnectionClosed) do
          stream.each do
            wait_until { pull.instance_variable_get(:@asked).ready? }
            client.close
          end
        end
        refute_predicate(error, :retry_safe?)
      end
    end

    def test_errors_in_the_middle_of_a_result
      with_client do |client|
        seen = []
        error = assert_raises(Plait::RemoteError) { client.stream(:breaks) { |chunk| seen << chunk } }
        assert_equal([1, 2], seen)
        assert_equal("KeyError: in the middle", error.message)
        assert_equal("in the middle", @errors.pop.message)
      end
      assert_no_streams
    end

    def test_errors_in_the_middle_of_an_argument
      with_client do |client|
        error = assert_raises(KeyError) { client.stream(:reads, @service.breaks) }
        assert_equal("in the middle", error.message)
        assert_equal([1, 2], [@service.notes.pop, @service.notes.pop])
        told = @service.notes.pop
        assert_instance_of(Plait::RemoteError, told)
        assert_equal("KeyError: in the middle", told.message)
        assert_raises(KeyError) { client.stream(:upcase, Enumerator.new { |out| (out << "a") && raise(KeyError) }).to_a }
      end
      assert_no_streams
    end

    def test_the_end_of_the_connection
      with_client do |client|
        client.stream(:export, 10_000)
        reader = Thread.new { client.stream(:reads, Enumerator.new { |out| (out << 1) && sleep }) }
        reader.report_on_exception = false
        assert_equal(1, @service.notes.pop)
        client.close
        ends = [@service.notes.pop, @service.notes.pop]
        assert_includes(ends, :over)
        assert_equal([Plait::ConnectionClosed], (ends - [:over]).map(&:class))
        assert_raises(Plait::ConnectionClosed) { reader.value }
      end
      assert_no_streams
    end

    def test_nothing_for_too_long
      with_client do |client|
        stream = client.stream(:waits, timeout: 1)
        error = assert_raises(Plait::ReadTimeout) { stream.to_a }
        assert_match(/no chunk in 1 s/, error.message)
        @service.open
        assert_equal(:over, @service.notes.pop)
        assert_raises(Plait::ReadTimeout) { client.stream(:slowly, source(1_000), timeout: 1) }
        @service.open
        assert_equal(:over, @service.notes.pop)
        assert_raises(Plait::ReadTimeout) { client.stream(:waits, deadline: Plait::Deadline.after(1)).to_a }
        @service.open
        assert_equal(3, client.call(:add, 1, 2))
      end
      assert_no_streams
    end

    def test_a_server_that_stops_lets_streams_come_to_their_end
      with_client do |client|
        stream = client.stream(:export, 300)
        @server.stop(within: 30)
        assert_equal(300, stream.count)
        assert_equal(:all, @service.notes.pop)
      end
    end

    # By hand: what a peer does that does not keep to the rules.
    def test_bad_requests
      serve
      talker = Talker.new(TCPSocket.new(@endpoint.host, @endpoint.port))
      refused(talker, "no stream 1", "rpc.stream.call", 1, "export", [1], nil)
      [1, 3, 4, 6].each { |id| asked(talker, 1, "rpc.stream", 1, id) }
      asked(talker, 1, "rpc.stream", 2, 7)
      refused(talker, "under way", "rpc.stream", 1, 1)
      asked(talker, ["rpc.stream", 1], "rpc.stream.call", 1, "export", [10_000], nil)
      refused(talker, "begun already", "rpc.stream.call", 1, "export", [1], nil)
      refused(talker, "no stream 7", "rpc.stream.next", 7)
      refused(talker, "has the index 1000000000", "rpc.stream.call", 3, "import", [nil], 1_000_000_000)
      refused(talker, "no method", "rpc.stream.call", 4, "rpc.stream.call", [5, "export", [1], nil], nil)
      asked(talker, false, "rpc.stream.push", 5, ["x"], false)
      talker.request(0, "rpc.stream.push", 6, ["x" * RPC::Streaming::WINDOW] * 3, false)
      wait_until { @server.statistics.then { |numbers| numbers[:done] == numbers[:requests] - 1 } } # the export waits
      refused(talker, "in an Array", "rpc.stream.push", 6, "x", false)
      refused(talker, "no room", "rpc.stream.push", 6, ["x"], false)
    ensure
      talker&.socket&.close
    end

    def test_too_many
      with_client do |client|
        streams = Array.new(RPC::Streaming::Service::MOST) { client.stream(:export, 10) }
        assert_predicate(assert_raises(Plait::PoolTimeout) { client.stream(:export, 1) }, :retry_safe?)
        streams.first.close
        assert_equal([10] * 63, streams.drop(1).map(&:count))
        assert_equal(1, client.stream(:export, 1).count)
      end
      assert_no_streams
    end
  end
end
