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

  # An interrupt in ActiveRecord's `ensure` part, before a connection is given back.
  LEFT = <<~RUBY
    require "plait"
    %<load>s
    NAMES = { 1 => "n1", 2 => "n2" }
    Cut = Class.new(Exception)
    module Late
      def release_connection(*) = Thread.current[:late] ? raise(Cut, Thread.current[:late] = nil) : super
    end
    people = connect(*ARGV)
    pool = people.connection_pool.tap { |one| one.singleton_class.prepend(Late) }
    begin
      Thread.current[:late] = true
      people.name_of(1)
    rescue Cut
      puts "cut"
    end
    puts pool.active_connection?.inspect, people.name_of(2), pool.stat[:busy]
    leased = pool.with_connection { people.respond_to?(:lease_connection) ? people.lease_connection : people.connection }
    puts ActiveRecord.version < Gem::Version.new("7.2") || leased.equal?(pool.active_connection?)
  RUBY

  def test_a_connection_that_an_interrupt_left_is_given_back
    skip_without_it
    server = Support::MariadbServer.shared
    result = run_with(format(LEFT, load: MODEL), "mysql2", server.host, server.port.to_s, server.user, server.database)
    assert_equal("cut\nnil\nn2\n0\ntrue\n", result.out, result.err)
  end

  private

  def model = MODEL

  def skip_without_it
    skip("the gem activerecord is not installed: bin/setup test drivers") unless Gem.loaded_specs.key?("activerecord")
  end
end
