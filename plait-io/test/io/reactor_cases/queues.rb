# frozen_string_literal: true

require "plait/values/deadline"

module ReactorCases
  # Who waits since when.
  module Queues
    def now = Plait::Deadline.now

    def test_expired_ones_are_told_oldest_first
      pairs = watched(4)
      @reactor.rearm(pairs[1].first) # its time begins anew
      middle = now
      @reactor.rearm(pairs[2].first)
      assert_equal([0, 3, 1], @reactor.expire(0, middle))
      assert_empty(@reactor.expire(0, middle))
      pairs[0].last.write("x")
      assert_empty(wait(0.02), "it was told")
      @reactor.rearm(pairs[0].first)
      assert_equal([0], wait)
      assert_equal([2], @reactor.expire(0, now))
    end

    def test_who_was_told_is_not_expired
      pairs = watched(3)
      pairs[0].last.write("x")
      wait
      assert_equal([1, 2], @reactor.expire(0, now))
      assert_empty(@reactor.expire(0, now))
    end

    # Half a message does not become younger by one byte more.
    def test_a_place_that_is_kept
      slow, quick = watched(2).map(&:first)
      [slow, quick].each { |one| @reactor.rearm(one, READABLE, 1) }
      middle = now
      write_to(@pairs)
      assert_equal([0, 1], wait.sort)
      @reactor.rearm(slow, READABLE, 1, true)
      @reactor.rearm(quick, READABLE, 1)
      assert_equal([0], @reactor.expire(1, middle))
      assert_equal([1], @reactor.expire(1, now))
    end

    def test_queues_are_apart
      first, second = watched(2).map(&:first)
      @reactor.rearm(second, READABLE, 3)
      assert_equal([1], @reactor.expire(3, now))
      @reactor.rearm(first, READABLE, 2, true)
      assert_empty(@reactor.expire(0, now))
      assert_equal([0], @reactor.expire(2, now))
    end

    def test_oldest
      assert_nil(@reactor.oldest(0))
      before = now
      (one, peer), (other,) = watched(2)
      assert_includes(before..now, @reactor.oldest(0))
      middle = now
      @reactor.rearm(other)
      assert_operator(@reactor.oldest(0), :<, middle)
      peer.write("x")
      wait
      assert_operator(@reactor.oldest(0), :>=, middle)
      @reactor.rearm(one, READABLE, 0, true)
      assert_operator(@reactor.oldest(0), :<, middle)
    end

    # Against a model: thousands of steps, all queues whole after each.
    def test_any_order_of_steps
      random = Random.new(Integer(ENV.fetch("SEED", "1")))
      @sockets = Array.new(12) { pair.first }
      @model = {}
      2_000.times do |step|
        send(STEPS[random.rand(4)], random.rand(12), step, random)
        assert_equal(@model.size, @reactor.size)
      end
    end

    STEPS = %i[add_one remove_one rearm_one expire_some].freeze

    def add_one(number, step, random)
      @reactor.add(@sockets[number], number, READABLE, queue = random.rand(2))
      @model[number] = [step, queue]
    end

    def remove_one(number, *) = assert_equal(!@model.delete(number).nil?, @reactor.remove(@sockets[number]))

    def rearm_one(number, step, random)
      return unless @model[number]

      @reactor.rearm(@sockets[number], READABLE, queue = random.rand(2), keep = random.rand(2).zero?)
      @model[number] = [step, queue] unless keep && @model[number].last == queue
    end

    def expire_some(_, step, random)
      queue = random.rand(2)
      expected = @model.select { |_, (_, its)| its == queue }.sort_by { |_, (since, _)| since }.map(&:first)
      assert_equal(expected, @reactor.expire(queue, now + 1), "step #{step}")
      expected.each { |one| @reactor.rearm(@sockets[one], READABLE, queue, true) }
    end
  end
end
