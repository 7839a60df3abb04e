# frozen_string_literal: true

module ConnectionCases
  # What a signal handler may ask for, which runs on top of a thread that waits.
  module Signals
    # The handler interrupts the reader, who would read its answer.
    def test_a_signal_handler_can_not_wait_for_what_its_thread_reads
      with_pair do |connection, talker|
        told = []
        on_signal(-> { told << complaint_of { connection.request(:inner, []) } }) do |signal|
          answerer = Thread.new do
            id = talker.hear[1]
            signal.call
            wait_until { told.any? }
            talker.answer(id, 1)
          end
          assert_equal(1, connection.request(:outer, []))
          answerer.join
        end
        assert_match(%r{unix:///pair can't be waited for here.*Thread\.new}, told.first)
        assert_still_usable(connection, talker)
      end
    end

    def test_a_signal_handler_may_notify_and_call_from_another_thread
      with_pair do |connection, talker|
        calls = []
        handler = lambda do
          connection.notify(:told, [])
          calls << Thread.new { connection.request(:aside, []) }
        end
        on_signal(handler) do |signal|
          answerer = Thread.new do
            id = talker.hear[1]
            signal.call
            assert_equal([2, "told", []], talker.hear)
            talker.answer(talker.hear[1], 2)
            talker.answer(id, 1)
          end
          assert_equal(1, connection.request(:outer, []))
          answerer.join
        end
        assert_equal([2], calls.map(&:value))
      end
    end

    # The reader leaves meanwhile; its heir is one who can read.
    def test_a_signal_handler_waits_while_another_thread_reads
      skip("a Mutex can't be waited for there, says Ruby") if line == Plait::RPC.const_get(:PureLine)
      with_pair do |connection, talker|
        reader = Thread.new { connection.request(:reads, []) }
        ids = [talker.hear[1]]
        wait_until_asleep([reader])
        inner = nil
        on_signal(-> { inner = connection.request(:inner, []) }) do |signal|
          answerer = Thread.new do
            ids << talker.hear[1]
            signal.call
            ids << talker.hear[1]
            wait_until_asleep([Thread.main])
            answer_in_turn(talker, ids.values_at(0, 2, 1), [-> { !reader.alive? }, -> { inner }, -> { true }])
          end
          assert_equal(1, connection.request(:outer, []))
          answerer.join
        end
        assert_equal([1, 1], [reader.value, inner])
      end
    end

    # The reader is a fiber, whose loop the handler interrupts.
    def test_a_signal_handler_above_a_loop
      skip_without_fibers
      with_pair do |connection, talker|
        told = []
        on_signal(-> { told << complaint_of { connection.request(:inner, []) } }) do |signal|
          answerer = Thread.new do
            id = talker.hear[1]
            signal.call
            wait_until { told.any? }
            talker.answer(id, 1)
          end
          assert_equal([1], Plait.map([1], on: :fibers) { connection.request(:outer, []) })
          answerer.join
        end
        assert_match(/can't be waited for here/, told.first)
      end
    end

    private

    def answer_in_turn(talker, ids, conditions)
      ids.zip(conditions) do |id, condition|
        talker.answer(id, 1)
        wait_until(&condition)
      end
    end

    def complaint_of
      yield
    rescue Plait::UsageError => e
      e.message
    end

    # @yieldparam signal [#call] has the main thread run the handler, once it sleeps
    def on_signal(handler)
      skip("signal handlers have a thread of their own") if RUBY_ENGINE == "jruby"
      before = trap(:USR2) { handler.call }
      yield(lambda do
        wait_until_asleep([Thread.main])
        Process.kill(:USR2, Process.pid)
      end)
    ensure
      trap(:USR2, before) if before
    end
  end
end
