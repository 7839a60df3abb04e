# frozen_string_literal: true

require "tmpdir"
require "support/scheduler_cases"
require "support/mariadb_server"
require "support/mongo_server"
require "support/postgres_server"
require "support/redis_server"
require "support/slow_door"
require "plait/db"

# One cell of the matrix of drivers and calls, measured: ten calls of 0.1 s at once, on threads and in fibers.
class MatrixMeasurement
  CALLS = 10
  ONE = 0.1
  # Of a large result, for each of the ten.
  ROWS = 10_000
  # How servers are asked to take their time; SQLite has to compute.
  SLEEP = {
    "trilogy" => "SELECT SLEEP(#{ONE})", "mysql2" => "SELECT SLEEP(#{ONE})", "postgres" => "SELECT pg_sleep(#{ONE})",
    "sqlite" => "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 400000) SELECT COUNT(*) FROM c"
  }.freeze
  LARGE = {
    "trilogy" => "SELECT seq, 'word' FROM seq_1_to_#{ROWS}", "mysql2" => "SELECT seq, 'word' FROM seq_1_to_#{ROWS}",
    "postgres" => "SELECT n, 'word' FROM generate_series(1, #{ROWS}) n",
    "sqlite" => "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < #{ROWS}) SELECT x, 'word' FROM c"
  }.freeze

  # @!attribute ratio [Float] seconds in fibers ÷ seconds on threads
  # @!attribute stall [Float] seconds for which another fiber was kept waiting, at worst
  Result = Struct.new(:ratio, :stall, keyword_init: true) do
    def within?(limit, stall) = ratio <= limit && self.stall <= stall

    def to_s = format("%.2f × threads, stall %.1f ms", ratio, stall * 1000)
  end

  def initialize(driver, call)
    @driver = driver
    @call = call.tr(" ", "_")
  end

  # @yieldparam measurement [MatrixMeasurement]
  def open
    Dir.mktmpdir("plait-test-") do |folder|
      @folder = folder
      @door = Support::SlowDoor.start(to: server.port, seconds: ONE) if @call == "connect" && server
      Plait::DB.connect(url, size: CALLS) do |database|
        @database = database
        prepare
        yield self
      end
    end
  ensure
    @door&.stop
  end

  # @return [Result]
  def take
    calls = Array.new(CALLS) { method(:"#{@call}_once").to_proc }
    threads = seconds { calls.map { |call| Thread.new(&call) }.each(&:join) }
    _, timing = SchedulerCases.measure(calls)
    Result.new(ratio: timing.own(timing.seconds) / threads, stall: timing.own(timing.stall))
  end

  private

  def server
    { "trilogy" => Support::MariadbServer, "mysql2" => Support::MariadbServer, "postgres" => Support::PostgresServer,
      "redis" => Support::RedisServer, "mongo" => Support::MongoServer }[@driver]&.shared
  end

  def port = @door&.port || server.port

  def url
    case @driver
    when "postgres" then "postgres://#{server.user}@localhost:#{port}/#{server.database}"
    when "sqlite" then "sqlite:#{@folder}/matrix.db?busy_timeout=60000" # the transactions run one after another
    when "redis" then "redis://localhost:#{port}/0?read_timeout=5"
    when "mongo" then "mongodb://localhost:#{port}/matrix"
    else "#{@driver}://#{server.user}@localhost:#{port}/#{server.database}"
    end
  end

  def prepare
    return if @call == "connect"

    fill if @call == "large_result"
    Array.new(CALLS) { Thread.new { open_one } }.each(&:join)
  end

  # The pool is full before the clock runs.
  def open_one
    return @database.query(ping: 1) if @driver == "mongo"

    @database.with { |_| sleep(0.02) }
  end

  def fill
    @database.query("MSET", *(1..ROWS).flat_map { |n| ["k#{n}", n] }) if @driver == "redis"
    return unless @driver == "mongo"

    @database.with { |client| client[:many].drop }
    @database.with { |client| client[:many].insert_many((1..ROWS).map { |n| { _id: n, word: "word" } }) }
  end

  def query_once
    case @driver
    when "redis" then @database.query("BLPOP", "none", ONE)
    when "mongo" then @database.with { |client| client[:none].find({}, comment: "sleep #{ONE}").first }
    else @database.query(SLEEP.fetch(@driver))
    end
  end

  def prepared_once = @database.execute(SLEEP.fetch(@driver))

  def transaction_once = @database.transaction { |tx| tx.query(SLEEP.fetch(@driver)) }

  def large_result_once
    count = 0
    case @driver
    when "redis" then @database.stream("SCAN", "COUNT", 100) { count += 1 }
    when "mongo" then @database.stream("many") { count += 1 }
    else @database.stream(LARGE.fetch(@driver)) { count += 1 }
    end
    raise "#{count} rows instead of #{ROWS}" if count < ROWS
  end

  def connect_once
    Plait::DB.connect(url, size: 1) do |database|
      case @driver
      when "redis" then database.query("PING")
      when "mongo" then database.query(ping: 1)
      else database.query("SELECT 1")
      end
    end
  end

  def seconds
    started = SchedulerCases.now
    yield
    SchedulerCases.now - started
  end
end
