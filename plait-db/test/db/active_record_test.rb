# frozen_string_literal: true

require "test_helper"
require_relative "orm_cases"

class DBActiveRecordTest < Minitest::Test
  include OrmCases

  MODEL = <<~'RUBY'
    require "active_record"
    require "plait/db/active_record"

    class Person < ActiveRecord::Base
      after_commit { sleep if self.class.rests.tap { self.class.rests = false } }

      class << self
        attr_accessor :sleep, :rests

        def name_of(id) = find_by(id: id)&.name
        def slow_name_of(id) = select("people.*, CAST(#{sleep}(0.01) AS CHAR(5)) AS pause").where(id: id).first.name
        def add(id) = create!(id: id, name: "new")
        def wait(seconds) = connection.select_value("SELECT CAST(#{sleep}(#{seconds}) AS CHAR(5))")
        def connections = connection_pool.stat[:connections]
        def busy = connection_pool.stat[:busy]
        def sleep_behind_commit = self.rests = true
        def commit_slowly = connection_pool.with_connection { |one| one.class.prepend(SlowCommit) }
      end
    end

    module SlowCommit
      def commit_db_transaction = super.tap { sleep }
    end

    def connect(driver, host, port, user, database)
      ActiveRecord.eager_load! # Ruby 3.1 crashes when an autoload is interrupted
      ActiveRecord::Base.establish_connection(adapter: driver.sub(/\Apg\z/, "postgresql"), host: host, port: Integer(port),
                                              username: user, database: database, pool: 10, checkout_timeout: 30)
      ActiveRecord::Base.connection.create_table(:people, force: true) { |table| table.string(:name) }
      ActiveRecord::Base.release_connection
      Person.sleep = driver == "pg" ? "pg_sleep" : "SLEEP"
      NAMES.each { |id, name| Person.create!(id: id, name: name) }
      Person
    end
  RUBY

  def test_state_by_thread_is_refused
    skip_without_it
    result = run_with(<<~RUBY)
      require "active_record"
      require "plait/db/active_record"
      puts ActiveSupport::IsolatedExecutionState.isolation_level
      ActiveSupport::IsolatedExecutionState.isolation_level = :fiber
      begin
        ActiveSupport::IsolatedExecutionState.isolation_level = :thread
      rescue Plait::UsageError => e
        puts e.message
      end
    RUBY
    assert_match(/\Afiber\nActiveRecord's isolation_level must stay :fiber/, result.out, result.err)
  end

  private

  def model = MODEL

  def skip_without_it
    skip("the gem activerecord is not installed: bin/setup test drivers") unless Gem.loaded_specs.key?("activerecord")
  end
end
