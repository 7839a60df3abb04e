# frozen_string_literal: true

require "test_helper"
require_relative "orm_cases"

class DBSequelTest < Minitest::Test
  include OrmCases

  MODEL = <<~'RUBY'
    require "sequel"
    require "plait/db/sequel"

    class People
      def initialize(database, sleep)
        @database = database
        @sleep = sleep
        @model = Class.new(Sequel::Model(database[:people])) { unrestrict_primary_key }
      end

      def name_of(id) = @model[id]&.name
      def slow_name_of(id) = @model.select_all.select_append(Sequel.function(@sleep, 0.01).as(:pause)).where(id: id).first.name
      def transaction(&block) = @database.transaction(&block)
      def add(id) = @model.create(id: id, name: "new")
      def wait(seconds) = @database.get(Sequel.function(@sleep, seconds))
      def connections = @database.pool.size
      def busy = @database.pool.allocated.size
      def sleep_behind_commit = @database.after_commit { sleep }
      def commit_slowly = @database.singleton_class.prepend(SlowCommit)
    end

    module SlowCommit
      def log_connection_execute(_, sql) = super.tap { sleep if sql.start_with?("COMMIT") }
    end

    def connect(driver, host, port, user, name)
      scheme = driver.sub(/\Apg\z/, "postgres")
      database = Sequel.connect("#{scheme}://#{user}@#{host}:#{port}/#{name}", max_connections: 10, pool_timeout: 30)
      database.create_table!(:people) do
        primary_key(:id)
        String(:name)
      end
      NAMES.each { |id, word| database[:people].insert(id: id, name: word) }
      People.new(database, driver == "pg" ? :pg_sleep : :SLEEP)
    end
  RUBY

  REFUSED = {
    'Sequel.mock; require "plait/db/sequel"' => /comes before Sequel.connect/,
    'require "plait/db/sequel"; Sequel.mock(single_threaded: true)' => /single_threaded: …\) can't be used/,
    'require "plait/db/sequel"; Sequel.mock(pool_class: :timed_queue)' => /pool_class: …\) can't be used/,
    'require "plait/db/sequel"; Sequel.mock(servers: { read: {} })' => /servers: …\) can't be used/
  }.freeze

  REFUSED.each do |code, message|
    define_method(:"test_refused_#{code.tr("^a-z", "_")}") do
      skip("the gem sequel is not installed: bin/setup test drivers") unless Gem.loaded_specs.key?("sequel")
      result = run_with("require 'plait'; require 'sequel'; begin; #{code}; rescue Plait::UsageError => e; puts e.message; end")
      assert_match(message, result.out, result.err)
    end
  end

  # trilogy's `query_with_flags` sets back what it has not read yet.
  def test_a_timeout_that_an_error_of_the_driver_hides
    skip("the gem sequel is not installed: bin/setup test drivers") unless Gem.loaded_specs.key?("sequel")
    result = run_with(<<~RUBY)
      require "plait"
      require "sequel"
      require "plait/db/sequel"
      database = Sequel.mock
      query = lambda do
        database.synchronize do
          flags = sleep
        ensure
          Integer(flags)
        end
      end
      outcomes = %i[fibers threads].map { |on| Plait.map([1], on: on, timeout: 0.05, on_error: :collect) { query.call }.first }
      puts outcomes.map { |outcome| outcome.error.class }
      database.synchronize { Integer(nil) } rescue puts $!.class
    RUBY
    assert_equal("Plait::TimeoutError\nPlait::TimeoutError\nTypeError\n", result.out, result.err)
  end

  private

  def model = MODEL
end
