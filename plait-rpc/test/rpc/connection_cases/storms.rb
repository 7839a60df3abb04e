# frozen_string_literal: true

module ConnectionCases
  # Interruptions at any moment, many of them: no answer is ever another one's, and all goes on.
  module Storms
    class Stop < Exception; end # rubocop:disable Lint/InheritException

    def test_interruptions_at_any_moment
      with_peer do |connection|
        threads = Thread.handle_interrupt(Stop => :never) { Array.new(4) { |t| Thread.new { call_until_told(connection, t) } } }
        random = Random.new(42)
        150.times do
          sleep(random.rand * 0.004)
          threads.sample(random: random).raise(Stop)
        end
        threads.each { |thread| thread[:enough] = true }
        results = threads.map(&:value)
        assert_equal([0], results.map(&:first).uniq)
        assert_operator(results.sum(&:last), :>, 0)
        assert_equal(0, connection.pending)
        assert_equal(3, connection.request(:add, [1, 2]))
      end
    end

    def test_kills_at_any_moment
      with_peer do |connection|
        random = Random.new(7)
        60.times do
          threads = Array.new(3) do |t|
            Thread.new { 50.times { |i| connection.request(:add, [t, i]) == t + i or raise "wrong" } }
          end
          sleep(random.rand * 0.005)
          threads.first(2).each(&:kill)
          threads.each(&:join)
        end
        assert_equal(3, connection.request(:add, [1, 2]))
        assert_equal(0, connection.pending)
      end
    end

    def test_cancellations_of_fibers_at_any_moment
      skip_without_fibers
      with_peer do |connection|
        random = Random.new(9)
        30.times do
          Plait.map(0...40, on: :fibers, limit: 20, timeout: random.rand * 0.01, on_error: :collect) do |i|
            20.times { |n| connection.request(:add, [i, n]) == i + n or raise "wrong" }
          end.each { |outcome| assert_includes([NilClass, Plait::TimeoutError], outcome.error.class, outcome.error&.message) }
        end
        assert_equal(3, connection.request(:add, [1, 2]))
        assert_equal(0, connection.pending)
      end
    end

    private

    # @return [Array(Integer, Integer)] wrong answers, interruptions
    def call_until_told(connection, number)
      wrong = stopped = i = 0
      until Thread.current[:enough]
        begin
          i += 1
          expected = (number * 1_000_000) + i
          sum = Thread.handle_interrupt(Stop => :immediate) { connection.request(:add, [expected, *Array.new(i % 500, 0)]) }
          wrong += 1 if sum != expected
        rescue Stop
          stopped += 1
        end
      end
      [wrong, stopped]
    end
  end
end
