# frozen_string_literal: true

require "test_helper"
require_relative "sidekiq_cases"

# A Redis that goes, forgets or is full while a run is under way, and Sidekiq's own ways of not running a job.
class SidekiqTroublesTest < Minitest::Test
  include SidekiqCases

  CALLER = <<~RUBY.freeze
    require #{JOBS.dump}
    Sidekiq.default_configuration.logger.level = Logger::WARN
  RUBY

  def setup
    need_sidekiq
    Plait::Mechanisms::Sidekiq.const_get(:Run) # loads the others
  end

  def test_a_redis_that_is_started_anew_with_its_data_ends_no_run
    with_worker("appendonly" => "yes", "appendfsync" => "always") do |redis|
      script = CALLER + <<~RUBY
        STDOUT.sync = true
        p Plait.map(0...600, on: :sidekiq, limit: 20, progress: ->(done, _) { puts "going" if done == 50 }, &Plait.job(Jobs::Double)).sum
      RUBY
      command = [{ "REDIS_URL" => redis.url }, RbConfig.ruby, *Support::FLAGS, "-e", script]
      IO.popen(command, err: %i[child out]) do |caller|
        assert_equal("going\n", caller.gets)
        redis.restart

        assert_match(/^#{(0...600).sum * 2}$/, caller.read)
      end
    end
  end

  def test_an_answer_waits_for_a_redis_that_is_full
    Dir.mktmpdir do |folder|
      with_worker do |redis, worker|
        result = Thread.new { run_beside(redis, "p Plait.map([#{folder.dump}], on: :sidekiq, &Plait.job(Jobs::Wait))") }
        wait_until { Dir.glob("begun-*", base: folder).any? }
        worker.redis("CONFIG", "SET", "maxmemory", "1")
        File.write(File.join(folder, "go"), "")
        wait_until { worker.redis("INFO", "errorstats").include?("errorstat_OOM") && Dir.glob("ended-*", base: folder).any? }
        worker.redis("CONFIG", "SET", "maxmemory", "0")

        assert_includes(result.value.out, '["gone on"]', result.value.err)
      end
    end
  end

  # It has the queue and the run, and not the signs of life of Sidekiq's processes: these come within ten seconds.
  def test_a_redis_that_has_forgotten_the_processes_ends_no_run
    patience = Plait::Mechanisms::Sidekiq.const_get(:LossDetector)::Patience.new(0, 30, 60, 3600)
    census = Struct.new(:served) do
      def dead(identities) = identities
      def served?(_queue) = served
    end
    watchman = Plait::Mechanisms::Sidekiq.const_get(:LossDetector).new(census.new(true), "default", patience)
    begun, waiting = Array.new(2) { |index| Plait::Mechanisms::Sidekiq.const_get(:Task).new(index, nil) }
    begun.attempt("a", 1)

    3.times { assert_empty(watchman.lost([begun, waiting])) }
  end

  # While Redis is away there is nothing to be seen: that time does not count.
  def test_a_queue_counts_as_unserved_from_the_first_look_that_finds_no_process
    unserved = 0.2
    census = Struct.new(:nothing) { def served?(_queue) = false }
    patience = Plait::Mechanisms::Sidekiq.const_get(:LossDetector)::Patience.new(0, unserved, 60, 0)
    watchman = Plait::Mechanisms::Sidekiq.const_get(:LossDetector).new(census.new, "q", patience)
    task = Plait::Mechanisms::Sidekiq.const_get(:Task).new(0, nil)
    sleep(unserved)
    logger = ::Sidekiq.default_configuration.logger

    logger.stub(:warn, nil) { assert_empty(watchman.lost([task])) }
    sleep(unserved)
    assert_raises(Plait::UnsupportedError) { watchman.lost([task]) }
  end

  # The answer to a push was lost: it may have arrived or not.
  def test_a_push_that_broke_off_is_made_again_and_counts_once
    with_worker do |redis|
      told = run_beside(redis, <<~RUBY)
        class Sidekiq::Client
          alias push_and_answer push
          def push(job)
            push_and_answer(job).tap { raise RedisClient::ReadTimeoutError, "gone" if (@pushed = @pushed.to_i + 1) == 2 }
          end
        end
        p Plait.map(1..5, on: :sidekiq, &Plait.job(Jobs::Double))
      RUBY

      assert_equal("[2, 4, 6, 8, 10]\n", told.out, told.err)
    end
  end

  # The client's own timeouts are longer than the test waits.
  SILENT = <<~RUBY
    Sidekiq.configure_client { |config| config.redis = { timeout: 300 } }
    stop = -> { Process.kill(:STOP, Integer(ENV.fetch("REDIS_PID"))) }
    report = ->(&run) do
      run.call
    rescue Plait::DeadlineExceeded => e
      puts e.message
    end
  RUBY

  # A run starts its threads where interrupts are held back, and a thread inherits that.
  def test_a_run_that_is_over_does_not_wait_for_its_deadline
    channel = Object.new
    def channel.listen(_seconds) = sleep(0.001).then { [] }
    def channel.heavy? = false
    def channel.knock = nil
    thread = Thread.new do
      Thread.handle_interrupt(Object => :never) do
        Plait::Mechanisms::Sidekiq.const_get(:Listener).new(channel, Plait::Deadline.after(3600)).stop
      end
    end
    assert_same(thread, thread.join(60))
  end

  def test_a_deadline_holds_while_redis_does_not_answer
    Support::RedisServer.start do |redis|
      told = run_beside(redis, SILENT + <<~RUBY, "REDIS_PID" => redis.pid.to_s)
        source = Enumerator.new { |items| items << 1; stop.call; items << 2 }
        report.call { Plait.map(source, on: :sidekiq, deadline: 0.5, &Plait.job(Jobs::Double)) }
        report.call { Plait.map([1], on: :sidekiq, deadline: 0.5, &Plait.job(Jobs::Double)) }
      RUBY
      Process.kill(:CONT, redis.pid)

      assert_match(/deadline passed.*\nthe deadline passed before Sidekiq's Redis answered/, told.out, told.err)
    end
  end

  def test_a_redis_that_has_lost_the_results_is_told
    with_redis do |_, channel, client|
      channel.open
      channel.beat
      client.call("DEL", "plait:run:#{channel.id}")
      channel.beat

      assert_operator(client.call("TTL", "plait:run:#{channel.id}"), :>, 0, "it is wanted again")
      client.call("FLUSHALL")
      error = assert_raises(Plait::ConnectionError) { channel.beat }
      assert_match(/has lost the results of this run: it was restarted without its data/, error.message)
    end
  end

  def test_what_was_read_goes_soon_when_it_is_much
    with_redis do |_, channel, client|
      channel.open
      8.times { channel.report(["done", 0, nil, "x" * (1 << 20)]) }
      read = channel.listen(1)

      assert_equal(9, read.size)
      assert_predicate(channel, :heavy?)
      channel.beat
      refute_predicate(channel, :heavy?)
      assert_equal(1, client.call("XLEN", "plait:run:#{channel.id}:news"))
    end
  end

  def test_a_full_redis_takes_signs_of_life_and_gives_memory_back
    with_redis do |_, channel, client|
      channel.open
      channel.report(["done", 0, nil, "x"])
      channel.listen(1)
      client.call("CONFIG", "SET", "maxmemory", "1")
      channel.beat

      assert_equal(1, client.call("XLEN", "plait:run:#{channel.id}:news"))
    end
  end

  def test_what_is_no_lasting_refusal_is_waited_for
    refusals = ["LOADING Redis is loading the dataset in memory", "OOM command not allowed"].map { |text| RedisClient::CommandError.parse(text) }
    attempts = 0
    Plait::Mechanisms::Sidekiq.const_get(:Redis).patiently(20) { (attempts += 1) < 3 ? raise(refusals[attempts - 1]) : nil }

    assert_equal(3, attempts)
    assert_raises(RedisClient::CommandError) do
      Plait::Mechanisms::Sidekiq.const_get(:Redis).patiently(20) { raise RedisClient::CommandError.parse("NOPERM this user has no permissions") }
    end
  end

  # It has answered, and then ended: its answer may be on the way at the first look.
  def test_a_process_is_dead_when_it_is_missed_twice
    patience = Plait::Mechanisms::Sidekiq.const_get(:LossDetector)::Patience.new(0, 30, 60, 0)
    census = Struct.new(:gone) { def dead(identities) = identities & gone }.new(["a"])
    watchman = Plait::Mechanisms::Sidekiq.const_get(:LossDetector).new(census, "default", patience)
    tasks = %w[a b].map.with_index { |worker, index| Plait::Mechanisms::Sidekiq.const_get(:Task).new(index, nil).tap { |task| task.attempt(worker, 1) } }

    assert_empty(watchman.lost(tasks))
    assert_equal([tasks.first], watchman.lost(tasks).map(&:first))
  end

  def test_a_job_that_a_middleware_keeps_back_is_told
    with_worker do |redis|
      told = run_beside(redis, <<~RUBY)
        class Keeper; def call(*) = nil; end
        Sidekiq.configure_client { |config| config.client_middleware { |chain| chain.add(Keeper) } }
        puts Plait.map([1], on: :sidekiq, on_error: :collect, &Plait.job(Jobs::Double)).first.error.message
      RUBY

      assert_match(/a client middleware of Sidekiq kept .*ItemJob back: it must yield/, told.out, told.err)
    end
  end

  def test_a_child_that_was_forked_in_the_middle_leaves_the_run_alone
    with_worker do |redis|
      told = run_beside(redis, <<~RUBY)
        values = []
        child = nil
        Plait.each_result(1..30, on: :sidekiq, limit: 5, &Plait.job(Jobs::Double)).each do |outcome|
          values << outcome.value
          next if child
          child = fork or exit(0)
          Process.wait(child)
        end
        p values.sum
      RUBY

      assert_equal("930\n", told.out, told.err)
    end
  end

  def test_what_sidekiq_has_for_tests_needs_no_redis
    told = Support::FreshRuby.run(CALLER + <<~RUBY, env: { "REDIS_URL" => "redis://127.0.0.1:1/0" })
      require "sidekiq/testing"
      begin
        Plait.map([1], on: :sidekiq, &Plait.job(Jobs::Double))
      rescue Plait::UsageError => e
        puts e.message
      end
      Sidekiq::Testing.inline! do
        p Plait.map([1, 2], on: :sidekiq, &Plait.job(Jobs::Double))
        p Plait.map([:no, "symbol", "raise", "fine"], on: :sidekiq, on_error: :collect, &Plait.job(Jobs::Fail)).map { |o| o.error.class }
      end
    RUBY

    assert_match(/Sidekiq::Testing.fake! runs no job/, told.out, told.err)
    assert_includes(told.out, "[2, 4]\n[Plait::UnmarshalableError, Plait::UnmarshalableError, ArgumentError, NilClass]")
  end

  private

  def with_worker(config = {})
    Support::RedisServer.start(config: config) do |redis|
      Support::SidekiqProcess.start(redis, JOBS) { |worker| yield redis, worker }
    end
  end

  def run_beside(redis, script, env = {})
    Support::FreshRuby.run(CALLER + script, env: { "REDIS_URL" => redis.url, **env })
  end

  def with_redis
    Support::RedisServer.start do |redis|
      config = RedisClient.config(url: redis.url)
      pool = config.new_pool(size: 2)
      client = config.new_client
      yield redis, Plait::Mechanisms::Sidekiq.const_get(:Channel).new(pool), client
    ensure
      client&.close
      pool&.close
    end
  end
end
