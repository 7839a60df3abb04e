# frozen_string_literal: true

module ConnectionCases
  # Who reads does so for others as well. He is interrupted just where he calls into Ruby on their behalf: what is theirs reaches
  # them all the same.
  module InTheMiddle
    Protocols = Plait.const_get(:Protocols)
    class Stop < Exception; end # rubocop:disable Lint/InheritException

    # Calls his own thread to an end from within.
    class Breaker
      def take(_incoming) = Thread.current.raise(Stop)

      def closed(*) = nil
    end

    # Keeps what is given to it.
    class Keeper < Breaker
      def taken = @taken ||= []
      def take(incoming) = taken << incoming.method_name
    end

    def test_a_reader_is_interrupted_before_a_request_of_the_peers_is_taken
      keeper = Keeper.new
      with_reader(dispatcher: keeper) do |_, talker, reader|
        interrupted(reader, :call, :arrived, Plait::RPC.const_get(:Connection)) do
          talker.request(1, "asks")
          wait_until { keeper.taken.any? }
        end
        assert_equal(["asks"], keeper.taken)
      end
    end

    def test_a_reader_is_interrupted_over_an_answer_that_is_followed
      with_reader do |connection, talker, reader|
        future = connection.call(:followed, [])
        derived = future.then { |value| value }
        talker.hear
        interrupted(reader, :call, :due, Plait::RPC.const_get(:Connection)) do
          talker.answer(future.id, 1)
          assert(derived.join(60), "the follower was not called")
        end
        assert_equal(1, derived.value)
      end
    end

    def test_a_reader_is_interrupted_over_a_large_part_of_an_answer
      with_reader do |connection, talker, reader|
        other = Thread.new { connection.request(:m, []) }
        id = talker.hear[1]
        wait_until_asleep([other])
        skeleton = Plait.const_get(:Protocols)::MessagePackRPC.const_get(:Skeleton)
        interrupted(reader, :call, :initialize, skeleton) do
          talker.answer(id, ["x" * 500_000])
          assert_equal(["x" * 500_000], arrived(other))
        end
      end
    end

    def test_a_reader_is_interrupted_over_an_answer_of_a_batch
      with_reader do |connection, talker, reader|
        other = Thread.new { connection.batch(:m, [1, 2]).values }
        ids = talker.hear_many(2).map { |call| call[1] }
        wait_until_asleep([other])
        interrupted(reader, :call, :initialize, Plait::RPC::Future) do
          ids.each { |id| talker.answer(id, ["x" * 20_000]) }
          assert_equal([["x" * 20_000]] * 2, arrived(other))
        end
      end
    end

    def test_a_reader_is_interrupted_when_he_wakes_a_fiber
      skip_without_fibers
      interrupted_when_he_wakes(:c_call) { |call| Plait.run(on: :fibers) { |scope| scope.async { call.call }.value } }
    end

    def test_a_reader_is_interrupted_when_he_wakes_a_fiber_of_another_scheduler
      skip_without_fibers
      begin
        require "async"
      rescue LoadError
        skip("the gem async is not installed: bin/setup test peers")
      end
      interrupted_when_he_wakes(:call) { |call| Sync { |task| task.async { call.call }.wait } }
    end

    def test_a_reader_is_interrupted_over_a_request_of_the_peers
      with_reader(dispatcher: Breaker.new) do |connection, talker|
        other = Thread.new do
          connection.request(:m, [])
        rescue Stop => e
          e
        end
        id = talker.hear[1]
        wait_until_asleep([other])
        say_at_once(talker, [0, 1, "asks", []], [1, id, nil, "behind it"])
        answer = arrived(other)
        skip("the caller was interrupted, not the reader: run it again") if answer.is_a?(Stop) && RUBY_ENGINE == "jruby"
        assert_equal("behind it", answer)
      end
    end

    def test_who_closes_is_interrupted_over_a_call_that_is_followed
      with_pair do |connection, talker|
        connection.follow(connection.call(:followed, [])) { nil }
        other = Thread.new { assert_raises(Plait::ConnectionClosed) { connection.request(:m, []) } }
        talker.hear_many(2)
        wait_until_asleep([other])
        gate = Queue.new
        closing = Thread.new { gate.pop && connection.close }
        closing.report_on_exception = false
        interrupted(closing, :call, :due, Plait::RPC.const_get(:Connection)) do
          gate << true
          assert_raises(Stop) { closing.join }
        end
        assert_match(/closed/, arrived(other).message)
      end
    end

    private

    def interrupted_when_he_wakes(event)
      with_reader do |connection, talker, reader|
        fiber = Thread.new { yield -> { connection.request(:m, []) } }
        ids = [talker.hear[1]]
        thread = Thread.new { connection.request(:m, []) }
        ids << talker.hear[1]
        wait_until_asleep([fiber, thread])
        interrupted(reader, event, :unblock) do
          say_at_once(talker, *ids.map { |id| [1, id, nil, "there"] })
          assert_equal(%w[there there], [arrived(fiber), arrived(thread)])
        end
      end
    end

    def with_reader(**options)
      with_pair(**options) do |connection, talker|
        reader = Thread.new do
          connection.request(:reads, [])
        rescue Stop
          nil
        end
        talker.hear
        wait_until_asleep([reader])
        yield connection, talker, reader
      ensure
        reader&.kill&.join
      end
    end

    def say_at_once(talker, *messages) = talker.socket.write(messages.map(&:to_msgpack).join)

    def arrived(thread)
      Support::Waiting.wait_until(what: "the end of a call") { !thread.alive? }
      thread.value
    ensure
      thread.kill
    end

    # The thread is raised into when it calls that method, if it does. The block waits for what comes after that.
    def interrupted(thread, event, method, owner = nil)
      skip("#{RUBY_ENGINE} does not trace all calls") if RUBY_ENGINE != "ruby"
      struck = false
      trace = TracePoint.new(event) do |call|
        next if struck || Thread.current != thread || call.method_id != method || (owner && call.defined_class != owner)

        struck = true
        thread.raise(Stop)
      end
      trace.enable
      yield
    ensure
      trace&.disable
    end
  end
end
