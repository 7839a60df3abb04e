# frozen_string_literal: true

module StreamingCases
  # Streams that come to their end, at everybody's pace.
  module Flow
    def test_a_result_in_chunks
      with_client do |client|
        values = [1, nil, "a", [2, { "b" => 3.5 }], "x" * 300_000, true]
        stream = client.stream(:list, values)
        assert_instance_of(RPC::Stream, stream)
        assert_equal(values, stream.to_a)
        assert_equal((0...500).to_a, client.stream(:export, 500).map { |chunk| chunk.unpack1("N") })
        assert_empty(client.stream(:list, []).to_a)
        seen = []
        assert_nil(client.stream(:list, [1, 2]) { |chunk| seen << chunk })
        assert_equal([1, 2], seen)
      end
      assert_no_streams
    end

    def test_an_argument_in_chunks
      with_client do |client|
        assert_equal(500 * CHUNK, client.stream(:import, source(500)))
        assert_equal(2 * CHUNK * 3, client.stream(:import, source(2), factor: 3))
        assert_equal(["a", [1, nil, "x" * 300_000], "b"], client.stream(:collect, "a", [1, nil, "x" * 300_000].each, "b"))
        assert_equal(0, client.stream(:import, [].each))
      end
      assert_no_streams
    end

    def test_both_at_once
      with_client do |client|
        words = Array.new(2_000) { |number| "word #{number} " * 100 }
        assert_equal(words.map(&:upcase), client.stream(:upcase, words.each).to_a)
        assert_equal(["A"], client.stream(:upcase, client.stream(:list, ["a"])).to_a)
      end
      assert_no_streams
    end

    def test_what_is_no_stream
      with_client do |client|
        assert_equal(3, client.stream(:add, 1, 2))
        assert_equal(7, client.stream(:delayed))
        assert_equal("now", client.stream(:early, "now"))
        assert_match(/no method "nothing"/, assert_raises(Plait::RemoteError) { client.stream(:nothing) }.message)
        assert_match(/takes 2 arguments, not 1/, assert_raises(Plait::RemoteError) { client.stream(:add, 1) }.message)
        assert_raises(Plait::UsageError) { client.stream(:add, [1].each, [2].each) }
        assert_raises(Plait::RemoteError) { client.call(:export, 1) }
      end
      assert_no_streams
    end

    def test_who_writes_a_result_waits_for_who_reads
      with_client do |client|
        stream = client.stream(:export, 10_000)
        wait_until { @service.written >= ROOM }
        assert_operator(@service.written, :<=, ROOM)
        stream.each.with_index { |_, index| break if index == 100 }
        assert_operator(@service.written, :<=, 101 + (3 * ROOM))
        assert_equal(:over, @service.notes.pop)
      end
      assert_no_streams
    end

    def test_who_writes_an_argument_waits_for_who_reads
      with_client do |client|
        read = 0
        slow = Thread.new { client.stream(:slowly, source(1_000) { |number| read = number }) }
        wait_until { read >= ROOM }
        3.times { client.call(:add, 1, 2) }
        assert_operator(read, :<=, 4 * ROOM)
        @service.open
        assert_equal(1_000 * CHUNK, slow.value)
      end
    end

    # A method that writes has its place, and what is asked of it must be heard all the same.
    def test_within_the_narrowest_bounds
      with_client(pipeline: 1, limit: 1) do |client|
        assert_equal(200, client.stream(:export, 200).count)
        assert_equal(200 * CHUNK, client.stream(:import, source(200)))
        streams = Array.new(8) { client.stream(:export, 40) }
        assert_equal([40] * 8, streams.map(&:count))
      end
    end

    def test_many_at_once_beside_calls
      with_client do |client|
        threads = Array.new(6) do |number|
          Thread.new do
            next Array.new(100) { |i| client.call(:add, number, i) }.sum - (100 * number) if number.even?

            client.stream(:export, 100).map { |chunk| chunk.unpack1("N") }.sum
          end
        end
        assert_equal([4_950] * 6, threads.map(&:value))
      end
      assert_no_streams
    end

    def test_clients_on_fibers
      skip_without_fibers
      with_client do |client|
        sums = Plait.map([50, 60, 70], on: :fibers) do |count|
          [client.stream(:export, count).count, client.stream(:import, source(count)) / CHUNK]
        end
        assert_equal([[50, 50], [60, 60], [70, 70]], sums)
      end
      assert_no_streams
    end

    def test_a_method_calls_its_caller
      caller = Service.new
      serve
      RPC::Client.open(@endpoint, dispatcher: Desk.new(caller)) do |client|
        assert_equal((0...300).to_a, client.stream(:relay, 300).map { |chunk| chunk.unpack1("N") })
        assert_equal(6, client.call(:ask, %w[abc def]))
      end
      assert_no_streams
    end

    def test_a_server_that_does_not_want_to
      with_client(streams: false) do |client|
        assert_raises(Plait::UnsupportedError) { client.stream(:export, 1) }
        assert_equal(3, client.call(:add, 1, 2))
      end
    end

    # The peer knows: a CLOSE would be its only notification.
    def test_what_is_over_is_not_closed
      with_client do |client|
        assert_equal(2, client.stream(:export, 2).count)
        assert_equal(3 * CHUNK, client.stream(:import, source(3)))
        assert_raises(Plait::RemoteError) { client.stream(:nothing) }
        assert_equal(3, client.call(:add, 1, 2))
        assert_equal(0, @server.statistics[:notifications])
        client.stream(:export, 100).first(1)
        wait_until { @server.statistics[:notifications] == 1 }
      end
    end

    def test_what_was_not_begun_is_not_closed
      with_client(streams: false) do |client|
        assert_raises(Plait::UnsupportedError) { client.stream(:export, 1) }
        assert_equal(3, client.call(:add, 1, 2))
        assert_equal(0, @server.statistics[:notifications])
      end
    end
  end
end
