# frozen_string_literal: true

module ConnectionCases
  # Threads whose answers come together, and who call again at once, again and again: who breaks step holds up nobody.
  module Steps
    STEPS = 30
    THREADS = 8 # fewer don't keep step

    def test_nobody_of_those_in_step_calls_again
      with_pair do |connection, talker|
        gate = Queue.new
        answered = Queue.new
        threads = in_step(connection, talker, [STEPS] * THREADS) do |number|
          answered << number
          gate.pop
        end
        Support::Waiting.wait_until(what: "everybody's last answer") { answered.size == THREADS }
        THREADS.times { gate << nil }
        threads.each(&:join)
      end
    end

    # Whichever of them it is, what the others say is sent.
    def test_one_of_those_in_step_does_not_call_again
      THREADS.times do |gone|
        with_pair do |connection, talker|
          gate = Queue.new
          steps = Array.new(THREADS) { |number| number == gone ? STEPS : STEPS + 1 }
          threads = in_step(connection, talker, steps) { |number| gate.pop if number == gone }
          talker.hear_many(THREADS - 1).each { |call| talker.answer(call[1], call.last.first) }
          threads.each_with_index { |thread, number| thread.join unless number == gone }
          gate << nil
          threads.each(&:join)
        end
      end
    end

    def test_one_of_those_in_step_is_killed
      THREADS.times do |killed|
        with_pair do |connection, talker|
          threads = in_step(connection, talker, [STEPS + 1] * THREADS) { nil }
          calls = talker.hear_many(THREADS)
          wait_until_asleep(threads)
          talker.socket.write(calls.map { |_, id, _, (value)| [1, id, nil, value].to_msgpack }.join)
          threads[killed].kill
          threads.each(&:join)
          assert_equal(0, connection.pending)
        end
      end
    end

    def test_the_connection_ends_while_threads_are_in_step
      with_pair do |connection, talker|
        threads = in_step(connection, talker, [STEPS + 1] * THREADS) { nil }
        calls = talker.hear_many(THREADS)
        threads.each { |thread| thread.report_on_exception = false }
        talker.socket.write(calls.first(3).map { |_, id, _, (value)| [1, id, nil, value].to_msgpack }.join)
        talker.socket.close
        assert_equal(THREADS - 3, threads.count { |thread| fails?(thread) })
      end
    end

    private

    def fails?(thread)
      thread.join && false
    rescue Plait::ConnectionClosed
      true
    end

    # @param steps [Array<Integer>] calls of each thread; the first STEPS are answered here, all of a step by one write
    # @yieldparam number [Integer] of a thread that has made its calls
    # @return [Array<Thread>]
    def in_step(connection, talker, steps, &after)
      threads = steps.each_with_index.map do |count, number|
        Thread.new do
          count.times { assert_equal(number, connection.request(:m, [number])) }
          after.call(number)
        end
      end
      STEPS.times do
        calls = talker.hear_many(steps.size).sort_by { |call| call.last.first }
        talker.socket.write(calls.map { |_, id, _, (value)| [1, id, nil, value].to_msgpack }.join)
      end
      threads
    end
  end
end
