# frozen_string_literal: true

require "test_helper"
require "support/fresh_ruby"
require "support/needing_async"
require "plait"
begin
  require "active_support"
  require "active_support/isolated_execution_state"
  require "active_support/code_generator"
  require "active_support/current_attributes"
rescue LoadError
  nil # the gem is not installed: bin/setup drivers
end

# What code keeps at the current thread and fiber, and which libraries do; test/contracts/ has what every mechanism promises.
class StateTest < Minitest::Test
  include Support::NeedingAsync

  Own = Plait::Mechanisms::State::Own
  MECHANISMS = [:sequence, :threads, :fibers, :hybrid, :processes, %i[processes threads], %i[processes fibers]].freeze
  NAMES = %w[ann bob cid dan eve].freeze

  if defined?(ActiveSupport::CurrentAttributes)
    class Current < ActiveSupport::CurrentAttributes
      attribute :user
    end
  end

  # --- ActiveSupport

  def test_current_attributes_begin_empty_and_those_of_the_caller_stay
    with_current do |level|
      MECHANISMS.each do |mechanism|
        Current.user = :caller
        seen = Plait.map(NAMES * 2, on: mechanism, limit: 2) { |name| replace_user(name) { sleep(0.001) } }
        assert_equal((NAMES * 2).map { |name| [nil, name] }, seen, [mechanism, level])
        assert_equal(:caller, Current.user, [mechanism, level])
      end
    end
  end

  def test_those_of_tasks_too
    with_current do |level|
      MECHANISMS.each do |mechanism|
        Current.user = :caller
        seen = Plait.run(on: mechanism, limit: 2) do |scope|
          NAMES.map { |name| scope.async { replace_user(name) { sleep(0.001) } } }.map(&:value)
        end
        assert_equal([NAMES.map { |name| [nil, name] }, :caller], [seen, Current.user], [mechanism, level])
      end
    end
  end

  def test_on_the_loop_of_async
    need_async
    with_current do |level|
      Sync do
        Current.user = :caller
        seen = Plait.map(NAMES * 2, on: :fibers, limit: 2) { |name| replace_user(name) { sleep(0.001) } }
        assert_equal([(NAMES * 2).map { |name| [nil, name] }, :caller], [seen, Current.user], level)
      end
    end
  end

  def test_a_sequence_inside_of_an_item
    with_current do |level|
      seen = Plait.map(NAMES, on: :fibers, limit: 2) do |name|
        Current.user = name
        sleep(0.001)
        [Plait.map([1, 2], on: :sequence) { |number| replace_user(number) }, Current.user]
      end
      assert_equal(NAMES.map { |name| [[[nil, 1], [nil, 2]], name] }, seen, level)
    end
  end

  def test_what_a_fiber_has_that_an_item_begins
    with_current(:thread) do
      seen = Plait.map(NAMES, on: :fibers, limit: 2) do |name|
        Current.user = name
        sleep(0.001)
        [Enumerator.new { |values| values << Current.user }.next, Fiber.new { Current.user }.resume]
      end
      assert_equal(NAMES.map { |name| [name, name] }, seen)
    end
  end

  # --- Jobs of the pool of threads

  def test_offloaded_blocks
    read = lambda do
      thread = Thread.current
      [thread[:plait_test], thread.thread_variable_get(:plait_test), thread.instance_variable_get(:@user)].tap do
        thread[:plait_test] = 1
        thread.thread_variable_set(:plait_test, 1)
        thread.instance_variable_set(:@user, 1)
      end
    end
    assert_equal([[nil, nil, nil]], Plait.map(1..40, on: :fibers, limit: 2) { Plait.offload(&read) }.uniq)
  end

  # --- Thread variables

  def test_fibers_have_thread_variables_of_their_own
    seen = Plait.map(1..6, on: :fibers, limit: 3) do |number|
      thread = Thread.current
      before = [thread.thread_variable?(:plait_test), thread.thread_variables]
      thread.thread_variable_set("plait_test", number)
      sleep(0.001)
      [before, thread.thread_variable_get(:plait_test) == number, thread.thread_variable?("plait_test"), thread.thread_variables]
    end
    assert_equal([[[false, []], true, true, [:plait_test]]], seen.uniq)
    assert_raises(TypeError) { Plait.map([1], on: :fibers) { Thread.current.thread_variable_set(1, 1) } }
  end

  def test_on_the_loop_of_async_too
    need_async
    seen = Sync do
      Plait.map(NAMES * 2, on: :fibers, limit: 2) do |name|
        before = Thread.current.thread_variable_get(:plait_test)
        Thread.current.thread_variable_set(:plait_test, name)
        sleep(0.001)
        [before, Thread.current.thread_variable_get(:plait_test)]
      end
    end
    assert_equal((NAMES * 2).map { |name| [nil, name] }, seen)
  end

  def test_fibers_that_an_item_begins_have_its_thread_variables
    seen = Plait.map(NAMES, on: :fibers, limit: 2) do |name|
      Thread.current.thread_variable_set(:plait_test, name)
      sleep(0.001)
      read = -> { Thread.current.thread_variable_get(:plait_test) }
      scheduled = nil
      Fiber.schedule { scheduled = read.call }
      [Enumerator.new { |values| values << read.call }.next, Fiber.new(&read).resume, scheduled]
    end
    assert_equal(NAMES.map { |name| [name, name, name] }, seen)
  end

  # What is set there is not for the item that runs in the same fiber by then.
  def test_a_fiber_that_outlives_its_item
    seen = Plait.run(on: :fibers, limit: 1) do |scope|
      gate = Queue.new
      scope.async { Fiber.schedule { gate.pop && Thread.current.thread_variable_set(:plait_test, 1) } && nil }.wait
      scope.async { (gate << 1) && sleep(0.01) && Thread.current.thread_variable_get(:plait_test) }.value
    end
    assert_nil(seen)
  end

  def test_threads_that_an_item_begins_have_their_own
    seen = Plait.map(NAMES, on: :fibers, limit: 2) do |name|
      Thread.current.thread_variable_set(:plait_test, name)
      Thread.new do
        thread = Thread.current
        thread.thread_variable_get(:plait_test).tap { thread.thread_variable_set(:plait_test, 5) }
      end.value
    end
    assert_equal([nil], seen.uniq)
  end

  def test_those_of_other_threads_are_rubys
    other = Thread.new { Thread.current.thread_variable_set(:plait_test, 1).then { sleep } }
    wait_until { other.stop? }
    seen = Plait.map([1, 2], on: :fibers) do |number|
      other.thread_variable_set(:plait_more, number)
      [other.thread_variable_get(:plait_test), other.thread_variables]
    end
    assert_equal([[1, %i[plait_test plait_more]]], seen.uniq)
    assert_equal(2, other.thread_variable_get(:plait_more))
  ensure
    other.kill.join
  end

  # One that is no item: it shares them with the program that has set the scheduler.
  def test_a_fiber_of_a_scheduler_that_was_set_by_hand
    value = Thread.new do
      Thread.current.thread_variable_set(:plait_test, 1)
      Fiber.set_scheduler(Plait::Scheduler.new)
      Fiber.schedule { Thread.current.thread_variable_set(:plait_test, Thread.current.thread_variable_get(:plait_test) + 1) }
      Fiber.set_scheduler(nil)
      Thread.current.thread_variable_get(:plait_test)
    end.value
    assert_equal(2, value)
  end

  # --- A sequence

  def test_what_an_item_of_a_sequence_has_taken_away
    thread = Thread.current
    thread[:plait_test] = 1
    thread.thread_variable_set(:plait_test, 2)
    Plait.map([1, 2], on: :sequence) { (thread[:plait_test] = nil) || thread.thread_variable_set(:plait_test, nil) }
    assert_equal([1, 2], [thread[:plait_test], thread.thread_variable_get(:plait_test)])
  ensure
    thread[:plait_test] = nil
    thread.thread_variable_set(:plait_test, nil)
  end

  def test_one_whose_item_fails_or_is_left
    thread = Thread.current
    thread[:plait_test] = 1
    assert_raises(KeyError) { Plait.map([1], on: :sequence) { (thread[:plait_test] = 2) && raise(KeyError) } }
    assert_equal(3, catch(:out) { Plait.map([1], on: :sequence) { (thread[:plait_test] = 2) && throw(:out, 3) } })
    assert_raises(Plait::TimeoutError) { Plait.map([1], on: :sequence, timeout: 0.01) { (thread[:plait_test] = 2) && sleep } }
    assert_equal(1, thread[:plait_test])
  ensure
    thread[:plait_test] = nil
  end

  def test_what_an_item_of_a_sequence_changes_in_place
    thread = Thread.current
    thread[:plait_test] = { user: +"caller", roles: ["guest"] }
    thread.thread_variable_set(:plait_test, Set["caller"])
    seen = Plait.map(NAMES, on: :sequence) do |name|
      local = thread[:plait_test]
      set = thread.thread_variable_get(:plait_test)
      before = [local[:user].dup, local[:roles].dup, set.to_a]
      set << name
      local[:roles] << name
      local[:user] << name
      before
    end
    assert_equal([["caller", ["guest"], ["caller"]]], seen.uniq)
    assert_equal({ user: "caller", roles: ["guest"] }, thread[:plait_test])
    assert_equal(Set["caller"], thread.thread_variable_get(:plait_test))
  ensure
    thread[:plait_test] = nil
    thread.thread_variable_set(:plait_test, nil)
  end

  def test_a_sequence_copies_no_object_that_may_be_a_connection_nor_itself
    thread = Thread.current
    connection = Object.new
    thread[:plait_test] = [connection]
    thread[:plait_test] << thread[:plait_test]
    seen = Plait.map([1], on: :sequence) { thread[:plait_test].first }
    assert_same(connection, seen.first)
  ensure
    thread[:plait_test] = nil
  end

  def test_the_locale
    skip("the gem i18n is not installed: bin/setup drivers") unless program_succeeds?('require "i18n"')

    ["", 'require "async"'].each do |before|
      assert_equal("#{"en de\n" * MECHANISMS.size}en\n", output(<<~RUBY), before)
        #{before}
        require "i18n"
        require "plait"
        I18n.enforce_available_locales = false
        I18n.locale = :en
        #{MECHANISMS.inspect}.each do |mechanism|
          puts Plait.map(1..4, on: mechanism, limit: 2) { [I18n.locale, I18n.locale = :de] }.uniq.join(" ")
        end
        puts I18n.locale
      RUBY
    end
  end

  # The gem fiber-storage gives Ruby 3.1 the fiber storage of later ones.
  def test_fiber_storage_of_the_gem
    need_async
    [%w[async plait], %w[plait async]].each do |first, second|
      assert_equal("[[nil, 1, 2]] [[nil, 1, 2]] 1\n" * MECHANISMS.size, output(<<~RUBY), first)
        require "#{first}"
        require "#{second}"
        Fiber[:x] = 1
        look = lambda do |_ = nil|
          thread = Thread.current
          before = [thread.thread_variable_get(:x), Fiber[:x]]
          thread.thread_variable_set(:x, 2)
          Fiber[:x] = 2
          sleep(0.001)
          before + [thread.thread_variable_get(:x)]
        end
        #{MECHANISMS.inspect}.each do |mechanism|
          items = Plait.map(1..6, on: mechanism, limit: 2, &look)
          tasks = Plait.run(on: mechanism, limit: 2) { |scope| Array.new(4) { scope.async(&look) }.map(&:value) }
          puts [items, tasks].map { |seen| seen.uniq.inspect }.join(" ") + " \#{Fiber[:x]}"
        end
      RUBY
    end
  end

  # Without the gem it may be another library's.
  def test_an_instance_variable_with_the_name_of_the_gems
    fiber = Fiber.current
    kept = fiber.instance_variable_get(:@storage)
    fiber.instance_variable_set(:@storage, { caller: 1 })
    Plait.map(NAMES, on: :sequence) { |name| fiber.instance_variable_get(:@storage)[:caller] = name }
    assert_equal({ caller: 1 }, fiber.instance_variable_get(:@storage))
  ensure
    kept ? fiber.instance_variable_set(:@storage, kept) : fiber.remove_instance_variable(:@storage)
  end

  def test_an_item_of_a_sequence_is_in_the_transaction_of_its_caller
    skip("activerecord and sqlite3 are not installed: bin/setup drivers") unless program_succeeds?(<<~RUBY)
      require "active_record"
      require "sqlite3"
    RUBY

    %i[thread fiber].each do |level|
      assert_equal("0 4\n", output(<<~RUBY), level)
        require "active_record"
        require "plait"
        ActiveSupport::IsolatedExecutionState.isolation_level = :#{level}
        class Base < ActiveRecord::Base
          self.abstract_class = true
          one = { adapter: "sqlite3", database: ":memory:", pool: 1, checkout_timeout: 1 }
          ActiveRecord::Base.configurations = { "default_env" => { "a" => one, "b" => one } }
          connects_to shards: { default: { writing: :a }, two: { writing: :b } }
        end
        class Item < Base; end
        counts = %i[default two].map do |shard|
          Base.connected_to(shard: shard, role: :writing) do
            Item.connection.create_table(:items) { |table| table.string(:name) }
            Item.transaction do
              Plait.map(%w[a b c], on: :sequence, timeout: 60) { |name| Item.create!(name: name) }
              Plait.run(on: :sequence) { |scope| scope.async { Item.create!(name: "d") } }
              raise ActiveRecord::Rollback if shard == :default
            end
            Item.count
          end
        end
        puts counts.join(" ")
      RUBY
    end
  end

  private

  def output(program)
    result = Support::FreshRuby.run(program, flags: ["-W0"])
    assert_predicate(result, :success?, result.err)
    result.out
  end

  def program_succeeds?(program) = Support::FreshRuby.run(program, flags: ["-W0"]).success?

  # @return [Array] who was the user before, and who is after the block
  def replace_user(name)
    before = Current.user
    Current.user = name
    yield if block_given?
    [before, Current.user]
  end

  def with_current(*levels)
    skip("the gem active_support is not installed: bin/setup drivers") unless defined?(Current)
    before = ActiveSupport::IsolatedExecutionState.isolation_level
    (levels.empty? ? %i[fiber thread] : levels).each do |level|
      ActiveSupport::IsolatedExecutionState.isolation_level = level
      yield(level)
    ensure
      Current.reset
    end
  ensure
    ActiveSupport::IsolatedExecutionState.isolation_level = before if before
  end
end
