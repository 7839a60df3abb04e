# frozen_string_literal: true

module Contracts
  # What an item and a task find at the current thread and fiber, under every mechanism. The including test says with
  # `def in_caller? = true` that items run in the fiber of their caller, and see its locals.
  module StateContract
    NAMES = %w[ann bob cid dan eve].freeze
    STORAGE = Fiber.respond_to?(:[])

    def in_caller? = false

    # @return [Boolean] whether items can inherit anything: those of a ractor are in another world
    def inherits? = STORAGE

    # What is left at the Thread itself is shared by fibers, and by items of a composition's fibers.
    def thread_alone? = !Array(on).intersect?(%i[fibers hybrid])

    def test_an_item_sees_nothing_that_an_earlier_one_has_left
      seen = map(NAMES * 3) do |name|
        thread = Thread.current
        fiber = Fiber.current
        before = [thread[:plait_test], thread.thread_variable_get(:plait_test), fiber.instance_variable_get(:@user)]
        before << Fiber[:plait_test] if Fiber.respond_to?(:[])
        thread[:plait_test] = name
        thread.thread_variable_set(:plait_test, name)
        fiber.instance_variable_set(:@user, name)
        Fiber[:plait_test] = name if Fiber.respond_to?(:[])
        sleep(0.001)
        [before.compact, [thread[:plait_test], thread.thread_variable_get("plait_test"), fiber.instance_variable_get(:@user)]]
      end
      assert_equal((NAMES * 3).map { |name| [[], [name] * 3] }, seen)
    end

    def test_nor_at_the_thread_itself
      return unless thread_alone?

      seen = map(NAMES) do |name|
        before = Thread.current.instance_variable_get(:@user)
        Thread.current.instance_variable_set(:@user, name)
        before
      end
      assert_equal([nil], seen.uniq)
    end

    def test_nor_what_one_that_failed_has_left
      outcomes = map(NAMES.zip([true, false].cycle), on_error: :collect) do |name, fails|
        before = Thread.current[:plait_test]
        Thread.current[:plait_test] = name
        fails ? raise(before.inspect) : before.inspect
      end
      assert_equal(["nil"], outcomes.map { |outcome| outcome.value || outcome.error.message }.uniq)
    end

    def test_a_task_sees_nothing_that_an_earlier_one_has_left
      seen = run_scope(limit: 1) do |scope|
        tasks = NAMES.map do |name|
          scope.async(name) do |user|
            thread = Thread.current
            before = [thread[:plait_test], thread.thread_variable_get(:plait_test)]
            before << Fiber[:plait_test] if Fiber.respond_to?(:[])
            thread[:plait_test] = user
            thread.thread_variable_set(:plait_test, user)
            Fiber[:plait_test] = user if Fiber.respond_to?(:[])
            before.compact
          end
        end
        tasks.map(&:value)
      end
      assert_equal([[]], seen.uniq)
    end

    def test_the_state_of_the_caller_stays
      with_state do |thread|
        seen = map(NAMES) do |name|
          current = Thread.current
          before = [current[:plait_caller], current.thread_variable_get(:plait_caller)]
          current[:plait_caller] = name
          current.thread_variable_set(:plait_caller, name)
          Fiber.current.instance_variable_set(:@caller, name)
          before
        end
        assert_equal([in_caller? ? [1, 2] : [nil, nil]], seen.uniq)
        state = [thread[:plait_caller], thread.thread_variable_get(:plait_caller), Fiber.current.instance_variable_get(:@caller)]
        assert_equal([1, 2, 3], state)
      end
    end

    def test_an_item_inherits_a_copy_of_the_fiber_storage
      return unless STORAGE

      Fiber[:plait_caller] = "caller"
      seen = map(NAMES * 3) do |name|
        before = Fiber[:plait_caller]
        Fiber[:plait_caller] = name
        before
      end
      assert_equal([[inherits? ? "caller" : nil], "caller"], [seen.uniq, Fiber[:plait_caller]])
    ensure
      Fiber[:plait_caller] = nil if STORAGE
    end

    private

    def with_state
      thread = Thread.current
      thread[:plait_caller] = 1
      thread.thread_variable_set(:plait_caller, 2)
      Fiber.current.instance_variable_set(:@caller, 3)
      yield thread
    ensure
      thread[:plait_caller] = nil
      thread.thread_variable_set(:plait_caller, nil)
      Fiber.current.remove_instance_variable(:@caller)
    end
  end
end
