# frozen_string_literal: true

require_relative "../support/fresh_ruby"
require_relative "../support/mariadb_server"
require_relative "../support/postgres_server"

# What a library with models and a pool of its own has to do under `on: :fibers`, with each driver: in a process of its own,
# since such a library changes what it is loaded into. A test says how it is loaded and what it calls things.
module OrmCases
  DRIVERS = { "pg" => "pg", "trilogy" => "trilogy", "mysql2" => "mysql2" }.freeze

  # It ends with a line of what went wrong, or of nothing.
  PROGRAM = <<~'RUBY'
    require "plait"
    %<load>s
    NAMES = (1..200).to_h { |id| [id, "n#{id}"] }
    people = connect(*ARGV)
    check = ->(what, fine) { puts("wrong: #{what}") unless fine }
    all = -> { Plait.map(NAMES.keys, on: :fibers, limit: 100) { |id| people.name_of(id) } }
    check.call("100 fibers, 10 connections", all.call == NAMES.values)

    random = Random.new(8)
    limits = NAMES.keys.to_h { |id| [id, id.odd? ? random.rand(0.001..0.05) : 60] }
    outcomes = Plait.map(NAMES.keys, on: :fibers, limit: 40, on_error: :collect) do |id|
      Plait.timeout(limits.fetch(id)) { people.slow_name_of(id) }
    end
    outcomes.zip(NAMES.values) { |outcome, name| check.call("another's answer", outcome.value == name) if outcome.ok? }
    errors = outcomes.filter_map(&:error)
    check.call("no timeouts: #{errors.size}", errors.size.between?(1, 100))
    odd = errors.reject { |error| error.instance_of?(Plait::TimeoutError) }
    check.call("errors that are no timeouts: #{odd.size}, such as #{odd.first.inspect}", odd.empty?)
    check.call("after the timeouts", all.call == NAMES.values)
    check.call("connections of its own", people.connections <= 10)

    begin
      Plait.run(on: :fibers) { Plait.timeout(0.3) { people.transaction { people.add(999) && people.wait(3) } } }
      check.call("no timeout of a transaction", false)
    rescue Plait::TimeoutError
      check.call("half a transaction", people.name_of(999).nil?)
    end
    Plait.map([1000, 1001], on: :fibers, on_error: :collect) do |id|
      people.transaction { people.add(id) && id.odd? && raise("no") }
    end
    check.call("a transaction each", [people.name_of(1000), people.name_of(1001)] == ["new", nil])
    puts "done"
  RUBY

  DRIVERS.each_key { |driver| define_method(:"test_models_with_#{driver}") { check_models(driver) } }

  private

  def check_models(driver)
    server = driver == "pg" ? Support::PostgresServer.shared : Support::MariadbServer.shared
    result = run_with(program, driver, server.host, server.port.to_s, server.user, server.database)
    skip(result.err.lines.grep(/needs the gem/).first) if result.err.include?("needs the gem")
    assert_equal("done\n", result.out, result.err)
  end

  def program = format(PROGRAM, load: model)

  def run_with(...) = Support::FreshRuby.run(...)
end
