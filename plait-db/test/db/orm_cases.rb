# frozen_string_literal: true

require "support/fresh_ruby"
require "support/mariadb_server"
require "support/postgres_server"

# What a library with models and a pool of its own has to do under `on: :fibers`, with each driver: in a process of its own,
# since such a library changes what it is loaded into. A test says how it is loaded and what it calls things.
module OrmCases
  DRIVERS = { "pg" => "pg", "trilogy" => "trilogy", "mysql2" => "mysql2" }.freeze

  # It ends with a line of what went wrong, or of nothing.
  PROGRAM = <<~'RUBY'
    require "plait"
    require "timeout"
    %<load>s
    NAMES = (1..200).to_h { |id| [id, "n#{id}"] }
    people = connect(*ARGV)
    check = ->(what, fine) { puts("wrong: #{what}") unless fine }
    all = -> { Plait.map(NAMES.keys, on: :fibers, limit: 100) { |id| people.name_of(id) } }
    # A lost IO closes its number at a garbage collection. The number may belong to another connection by then.
    made = []
    trace = TracePoint.new(:c_return) { |call| made << caller if call.method_id == :for_fd }
    trace.enable
    check.call("100 fibers, 10 connections", all.call == NAMES.values)
    trace.disable
    check.call("an IO where interrupts come", made.all? { |calls| calls.any? { |line| line.include?("detached_call") } })

    # A connection that a timeout has parted from its thread would keep the patient ones waiting.
    random = Random.new(8)
    limits = NAMES.keys.to_h { |id| [id, id.odd? ? random.rand(0.001..0.05) : 60] }
    %%i[fibers threads].each do |on|
      outcomes = Plait.map(NAMES.keys, on: on, limit: 40, on_error: :collect) do |id|
        Plait.timeout(limits.fetch(id)) { people.slow_name_of(id) }
      end
      outcomes.zip(NAMES.values) { |outcome, name| check.call("another's answer", outcome.value == name) if outcome.ok? }
      errors = outcomes.filter_map(&:error)
      check.call("no timeouts: #{errors.size}", errors.size.between?(1, 100))
      odd = errors.reject { |error| error.instance_of?(Plait::TimeoutError) }
      check.call("errors that are no timeouts: #{odd.size}, such as #{odd.first.inspect}", odd.empty?)
      check.call("after the timeouts", all.call == NAMES.values)
    end

    # A kill and a throw are no exceptions.
    8.times do
      Thread.new { people.slow_name_of(1) }.tap { |thread| sleep(0.005) && thread.kill }.join
      Timeout.timeout(0.005) { people.slow_name_of(1) } rescue nil
    end
    check.call("after the kills", all.call == NAMES.values)
    check.call("connections of its own", people.connections <= 10)

    begin
      Plait.run(on: :fibers) { Plait.timeout(0.3) { people.transaction { people.add(999) && people.wait(20) } } }
      check.call("no timeout of a transaction", false)
    rescue Plait::TimeoutError
      check.call("half a transaction", people.name_of(999).nil?)
    end
    Plait.map([1000, 1001], on: :fibers, on_error: :collect) do |id|
      people.transaction { people.add(id) && id.odd? && raise("no") }
    end
    check.call("a transaction each", [people.name_of(1000), people.name_of(1001)] == ["new", nil])

    # On a busy machine COMMIT itself may be cut.
    %%i[fibers threads].each_with_index do |on, index|
      outcome = (0...20).lazy.map do |try|
        Plait.map([1900 + index + (2 * try)], on: on, timeout: 0.5, retries: 20, on_error: :collect) do |id|
          people.transaction { people.add(id) && people.sleep_behind_commit }
        end.first
      end.find { |one| !one.error.instance_of?(Plait::DB::CommitUnknown) }
      check.call("cut behind COMMIT: #{outcome&.error.inspect}", outcome&.error.instance_of?(Plait::DB::CommittedLate))
      check.call("what was committed before the cut", people.name_of(outcome.item) == "new")
    end

    # What came before COMMIT is tried again.
    people.commit_slowly
    %%i[fibers threads].each_with_index do |on, index|
      outcome = Plait.map([2000 + index], on: on, timeout: 0.5, retries: 20, on_error: :collect) do |id|
        people.transaction { people.add(id) }
      end.first
      check.call("a COMMIT that was cut: #{outcome.error.inspect}", outcome.error.instance_of?(Plait::DB::CommitUnknown))
      check.call("what was committed", people.name_of(2000 + index) == "new")
    end
    puts "done"
  RUBY

  # The same models in an app under Plait::Server: many requests at once, each of which gets its own answer; transactions that
  # are open meanwhile; clients that hang up in the middle; and all connections come back.
  IN_THE_SERVER = <<~'RUBY'
    require "plait"
    require "plait/server"
    %<load>s
    NAMES = (1..200).to_h { |id| [id, "n#{id}"] }
    people = connect(*ARGV)
    check = ->(what, fine) { puts("wrong: #{what}") unless fine }
    app = lambda do |env|
      id = env["QUERY_STRING"].to_i
      body = case env["PATH_INFO"]
             when "/slow" then people.slow_name_of(id)
             when "/tx" then people.transaction { [people.name_of(id), people.slow_name_of(id), people.name_of(id)].uniq.join(",") }
             when "/fail" then people.transaction { people.add(1000 + id) && raise("no") }
             else people.name_of(id)
             end
      [200, { "content-type" => "text/plain" }, [body.to_s]]
    end
    %%i[fibers hybrid].each do |on|
      server = Plait::Server.new(app, on: on, bind: "tcp://127.0.0.1:0")
      port = server.endpoints.first.port
      thread = server.start
      ask = ->(path) { Plait::HTTP.get("http://127.0.0.1:#{port}#{path}") }
      %%w[/ /slow /tx].each do |path|
        names = Plait.map(NAMES.keys, on: :fibers, limit: 60) { |id| ask.call("#{path}?#{id}").body }
        check.call("#{on} #{path}", names == NAMES.values)
      end
      $stderr.reopen(File::NULL) # what the app raises is told there
      failed = Plait.map(1..20, on: :fibers) { |id| ask.call("/fail?#{id}").status }
      check.call("#{on} /fail: #{failed.uniq}", failed.uniq == [500])
      cut = Plait.map(1..40, on: :fibers, on_error: :collect) { |id| Plait.timeout(0.02) { ask.call("/slow?#{id}").body } }
      cut.each_with_index { |outcome, n| check.call("another's answer", outcome.value == "n#{n + 1}") if outcome.ok? }
      names = Plait.map(NAMES.keys, on: :fibers, limit: 60) { |id| ask.call("/?#{id}").body }
      check.call("#{on} after that", names == NAMES.values)
      check.call("#{on} undone", people.name_of(1001).nil?)
      server.stop(within: 5)
      thread.join
      check.call("#{on} connections: #{people.connections}", people.connections <= 10)
      check.call("#{on} kept by requests that are over: #{people.busy}", people.busy <= 1)
    end
    puts "done"
  RUBY

  DRIVERS.each_key do |driver|
    define_method(:"test_models_with_#{driver}") { check_models(driver, PROGRAM) }
    define_method(:"test_models_in_the_server_with_#{driver}") { check_models(driver, IN_THE_SERVER) }
  end

  private

  def check_models(driver, program)
    server = driver == "pg" ? Support::PostgresServer.shared : Support::MariadbServer.shared
    result = run_with(format(program, load: model), driver, server.host, server.port.to_s, server.user, server.database)
    missing = result.err[/^.*(?:needs the gem|cannot load such file).*$/]
    skip("#{missing}: bin/setup drivers") if missing
    assert_equal("done\n", result.out, result.err)
  end

  def run_with(...) = Support::FreshRuby.run(...)
end
