# frozen_string_literal: true

require "support/patience"
require_relative "mechanism_contract"

module Contracts
  # What `Plait.run` must do in the same way under every mechanism. The including test names it: `def on = :threads`, and
  # says with `def eager? = true` that a task runs before `async` returns.
  module ScopeContract
    Journal = MechanismContract::Journal

    def eager? = false

    def run_scope(**options, &block) = Plait.run(on: on, **options, &block)

    def test_the_values_of_tasks
      assert_no_leaks do
        sum = run_scope do |scope|
          tasks = [1, 2, 3].map { |n| scope.async(n) { |item| sleep(0.01) && item } }
          tasks.sum(&:value)
        end
        assert_equal(6, sum)
      end
    end

    def test_no_task_outlives_its_scope
      Journal.open do |journal|
        assert_no_leaks do
          run_scope do |scope|
            3.times do
              scope.async(journal.path) do |path|
                sleep(0.05) && File.write(path, "x\n", mode: "a")
              end
            end
          end
          assert_equal(3, journal.lines.size)
        end
      end
    end

    def test_the_first_error_cancels_the_others_and_is_raised
      Journal.open do |journal|
        assert_no_leaks do
          Support::Patience.patiently do
            assert_raises(KeyError) do
              run_scope do |scope|
                start_a_victim(scope, journal.path) unless eager?
                scope.async(journal.path, eager?) do |path, alone|
                  sleep(0.01) until alone || File.read(path).start_with?("in\n")
                  raise(KeyError, "no")
                end
                sleep(30)
              end
            end
          end
        end
        assert_equal(eager? ? [] : %w[in out], journal.lines)
      end
    end

    def test_an_error_of_the_block_cancels_the_tasks
      assert_no_leaks do
        assert_raises(ArgumentError) do
          run_scope do |scope|
            scope.async { sleep(eager? ? 0 : 30) } if eager?
            scope.async { sleep(30) } unless eager?
            raise ArgumentError
          end
        end
      end
    end

    def test_errors_can_be_collected
      run_scope(on_error: :collect) do |scope|
        task = scope.async { raise KeyError, "mine" }
        assert_equal("mine", task.wait.error.message)
        assert_raises(KeyError) { task.value }
        assert_equal(1, scope.async { 1 }.value)
      end
    end

    def test_the_deadline
      assert_no_leaks do
        assert_raises(Plait::DeadlineExceeded) do
          run_scope(deadline: 0.2) { |scope| scope.async { sleep(30) }.value }
        end
      end
    end

    def test_a_tasks_timeout
      assert_no_leaks do
        assert_raises(Plait::TimeoutError) { run_scope(timeout: 0.1) { |scope| scope.async { sleep(30) }.value } }
      end
    end

    def test_scopes_nest
      value = run_scope do |scope|
        scope.async { Plait.run(on: :sequence) { |inner| inner.async { 20 }.value + 1 } }.value * 2
      end
      assert_equal(42, value)
    end

    def test_a_cancelled_task
      return if eager?

      assert_no_leaks do
        run_scope do |scope|
          task = scope.async { sleep(30) }
          sleep(0.01)
          task.cancel
          assert_instance_of(Plait::CancelledError, task.wait.error)
        end
      end
    end

    def test_the_limit_queues_tasks
      assert_no_leaks do
        values = run_scope(limit: 2) { |scope| Array.new(7) { |n| scope.async(n) { |m| sleep(0.01) && m } }.map(&:value) }
        assert_equal([0, 1, 2, 3, 4, 5, 6], values)
      end
    end

    def test_a_scope_that_is_over_takes_no_tasks
      over = run_scope { |scope| scope }
      assert_raises(Plait::UsageError) { over.async { 1 } }
      assert_raises(Plait::UsageError) { run_scope(&:async) }
    end

    private

    # An exception that reaches its thread before the file is closed leaves that open until the garbage is collected.
    def start_a_victim(scope, path)
      scope.async(path) do |file|
        Thread.handle_interrupt(Exception => :never) { File.write(file, "in\n", mode: "a") }
        sleep(30)
      ensure
        File.write(file, "out\n", mode: "a")
      end
    end
  end
end
