# frozen_string_literal: true

require "test_helper"
require "support/fresh_ruby"
require "tmpdir"

# Items inside of a Rails application, which is a process of its own.
class RailsTest < Minitest::Test
  # The application takes minutes to start and run on a busy machine.
  def hard_timeout = 480

  GEMS = %w[railties activerecord sqlite3].freeze

  # A small application that reloads its classes, with three connections.
  APP = <<~'RUBY'
    require "rails"
    require "active_record/railtie"
    require "plait"

    FOLDER = ARGV[0]
    class App < Rails::Application
      config.root = FOLDER
      config.load_defaults(Rails::VERSION::STRING.to_f)
      config.eager_load = false
      config.enable_reloading = true
      config.autoload_paths << "#{FOLDER}/models"
      config.logger = Logger.new(nil)
      config.secret_key_base = "secret"
      config.active_support.isolation_level = ARGV[1].to_sym
    end
    ENV["DATABASE_URL"] = "sqlite3:#{FOLDER}/test.db?pool=3&checkout_timeout=5"
    App.initialize!
    ActiveRecord::Base.connection_pool.with_connection { |connection| connection.create_table(:people, force: true) }

    MECHANISMS = [:threads, :fibers, :hybrid, :processes, %i[processes threads], %i[processes fibers]]

    # A connection that stays with its user.
    def connection = ActiveRecord::Base.respond_to?(:lease_connection) ? ActiveRecord::Base.lease_connection : ActiveRecord::Base.connection
    def busy = ActiveRecord::Base.connection_pool.stat.values_at(:busy, :dead).sum

    # Ends this process with all backtraces if the block hangs.
    def in_time(name)
      watch = Thread.new do
        sleep(300)
        puts("#{name} hangs")
        Thread.list.each { |thread| warn(thread.inspect, thread.backtrace&.first(10)) }
        exit!(1)
      end
      yield
    ensure
      watch.kill
    end
  RUBY

  # --- Connections and CurrentAttributes

  def test_an_item_gives_its_connection_back_and_begins_with_empty_attributes
    assert_prints("", <<~'RUBY')
      work = lambda do |number|
        before = Current.user
        Current.user = number
        connection.execute("SELECT 1")
        sleep(0.002)
        [before, Current.user == number, App.executor.active?]
      end
      MECHANISMS.each do |on|
        seen = Plait.map(1..12, on: on, limit: 3, &work).uniq
        puts("#{on}: #{seen}, #{busy} busy") unless seen == [[nil, true, true]] && busy.zero?
        App.executor.wrap do
          Current.user = :caller
          seen = Plait.map(1..12, on: on, limit: 3, &work).uniq
          puts("#{on} inside: #{seen}, #{busy}") unless seen == [[nil, true, true]] && busy.zero? && Current.user == :caller
        end
      end
    RUBY
  end

  def test_tasks_and_offloaded_blocks_too
    assert_prints("", <<~'RUBY')
      work = -> { Current.user.tap { Current.user = connection.execute("SELECT 1") && 1 } }
      MECHANISMS.each do |on|
        seen = Plait.run(on: on, limit: 2) { |scope| Array.new(5) { scope.async(&work) }.map(&:value) }
        puts("#{on}: #{seen}, #{busy} busy") unless seen.compact.empty? && busy.zero?
      end
      seen = Plait.map(1..8, on: :fibers, limit: 2) { Plait.offload(&work) }
      puts("offload: #{seen}, #{busy} busy") unless seen.compact.empty? && busy.zero?
    RUBY
  end

  def test_what_an_item_that_fails_or_is_cut_off_leaves_behind
    assert_prints("", <<~'RUBY')
      MECHANISMS.each do |on|
        outcomes = Plait.map(1..9, on: on, limit: 3, timeout: 0.2, on_error: :collect) do |number|
          connection.execute("SELECT 1")
          number.even? ? raise(KeyError) : sleep
        end
        errors = outcomes.map { |outcome| outcome.error.class } - [KeyError, Plait::TimeoutError] # a busy machine is late
        puts("#{on}: #{errors}, #{busy} busy") unless errors.empty? && busy.zero?
        begin
          Plait.map(1..9, on: on, limit: 3) { |number| connection.execute("SELECT 1") && (number == 3 ? raise(KeyError) : sleep) }
        rescue KeyError
          puts("#{on}: #{busy} busy after a cancellation") unless busy.zero?
        end
      end
    RUBY
  end

  def test_a_sequence_stays_in_the_unit_of_work_of_its_caller
    assert_prints("[nil, nil, nil]\n[3, :caller]\n[0, :caller]\n", <<~RUBY)
      App.executor.wrap do
        Current.user = :caller
        Person.transaction do
          p(Plait.map(1..3, on: :sequence) { |id| Person.create!(id: id) && Current.user.tap { Current.user = id } })
          p [Person.count, Current.user]
          raise ActiveRecord::Rollback
        end
        p [Person.count, Current.user]
      end
    RUBY
  end

  # It is the caller that may expect it.
  def test_errors_go_to_the_caller_alone
    assert_prints("[]\n", <<~RUBY, levels: %w[fiber])
      reports = []
      Rails.error.subscribe(Class.new { define_method(:report) { |error, **| reports << error } }.new)
      Plait.map(1..2, on: :threads, on_error: :collect) { raise KeyError }
      p reports
    RUBY
  end

  # --- Reloading

  # The reload waits for the caller or for each item, and no item waits for a reload that waits for its caller.
  def test_a_reload_while_items_run
    assert_prints("", <<~'RUBY')
      MECHANISMS.product([true, false]).each do |on, inside|
        work = lambda do
          Plait.map(1..12, on: on, limit: 3) do
            person = Person
            sleep(0.005)
            person.equal?(Person) && Plait.map([1], on: :threads) { person.equal?(Person) }.first
          end
        end
        in_time("#{on}, #{inside}") do
          over = false
          reloader = Thread.new { (sleep(0.01) && App.reloader.reload!) until over }
          seen = Array.new(2) { inside ? App.executor.wrap(&work) : work.call }.flatten.uniq
          puts("#{on}, #{inside}: #{seen}") unless seen == [true]
          over = true
          reloader.join
        end
      end
    RUBY
  end

  def test_a_reload_while_tasks_run
    assert_prints("", <<~'RUBY')
      MECHANISMS.product([true, false]).each do |on, inside|
        work = lambda do
          Plait.run(on: on) do |scope|
            first = scope.async { Person.tap { sleep(0.05) }.equal?(Person) }
            Thread.new { App.reloader.reload! }
            sleep(0.01)
            [first, scope.async { Person.equal?(Person) }].map(&:value)
          end
        end
        in_time("#{on}, #{inside}") do
          seen = inside ? App.executor.wrap(&work) : work.call
          puts("#{on}, #{inside}: #{seen}") unless seen == [true, true]
        end
      end
    RUBY
  end

  def test_an_application_that_takes_one_request_at_a_time
    assert_prints("[1, 2]\n",
                  <<~RUBY, app: APP.sub("config.eager_load", "config.allow_concurrency = false; \\0"), levels: %w[thread])
                    in_time("threads") { App.executor.wrap { p(Plait.map([1, 2], on: :threads) { |number| number }) } }
                  RUBY
  end

  private

  def assert_prints(expected, program, app: APP, levels: %w[fiber thread])
    missing = GEMS.reject { |gem| Gem.loaded_specs.key?(gem) }
    skip("the gems #{missing.join(" and ")} are not installed: bin/setup test drivers") if missing.any?
    levels.each do |level|
      Dir.mktmpdir do |folder|
        Dir.mkdir("#{folder}/models")
        File.write("#{folder}/models/person.rb", "class Person < ActiveRecord::Base; end")
        File.write("#{folder}/models/current.rb", "class Current < ActiveSupport::CurrentAttributes; attribute :user; end")
        result = Support::FreshRuby.run(app + program, folder, level, flags: ["-W0"])
        assert_equal(expected, result.out, "isolation_level #{level}: #{result.err}")
        assert_predicate(result, :success?, result.err)
      end
    end
  end
end
