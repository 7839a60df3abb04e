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
    detector = detector_of(signs_of(dead: %w[a]), patience(silent: 3600))
    started, waiting = tasks_of(7, nil)

    3.times { assert_empty(detector.lost([started, waiting])) }
  end

  # While Redis is away there is nothing to be seen: that time does not count.
  def test_a_queue_counts_as_unserved_from_the_first_look_that_finds_no_process
    unserved = 0.2
    detector = detector_of(signs_of(served: false), patience(unserved: unserved))
    task = tasks_of(nil).first
    sleep(unserved)
    logger = ::Sidekiq.default_configuration.logger

    logger.stub(:warn, nil) { assert_empty(detector.lost([task])) }
    sleep(unserved)
    assert_raises(Plait::UnsupportedError) { detector.lost([task]) }
  end

  # The answer to a push was lost: it may have arrived or not.
  def test_a_push_that_broke_off_is_made_again_and_counts_once
    with_worker do |redis|
      told = run_beside(redis, <<~RUBY)
        class Sidekiq::Client
          alias push_and_answer push_bulk
          def push_bulk(job)
            push_and_answer(job).tap { raise RedisClient::ReadTimeoutError, "gone" if (@pushed = @pushed.to_i + 1) == 1 }
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
        Plait::Mechanisms::Sidekiq.const_get(:Listener).new(channel, Plait::Deadline.after(3600), 1).stop
      end
    end
    assert_same(thread, thread.join(60))
  end

  def test_a_deadline_holds_while_redis_does_not_answer
    Support::RedisServer.start do |redis|
      told = run_beside(redis, SILENT + <<~RUBY, "REDIS_PID" => redis.pid.to_s)
        source = Enumerator.new { |items| items << 1; stop.call; items << 2 }
        report.call { Plait.map(source, on: :sidekiq, deadline: 3, &Plait.job(Jobs::Double)) }
        stop.call # on a busy machine the source may not have come so far
        report.call { Plait.map([1], on: :sidekiq, deadline: 3, &Plait.job(Jobs::Double)) }
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
    refusals = ["LOADING Redis is loading the dataset in memory", "OOM command not allowed", "MISCONF Redis is configured"]
               .map { |text| RedisClient::CommandError.parse(text) }
    attempts = 0
    Plait::Mechanisms::Sidekiq.const_get(:Redis).patiently(60) { (attempts += 1) < 4 ? raise(refusals[attempts - 1]) : nil }

    assert_equal(4, attempts)
    assert_raises(RedisClient::CommandError) do
      Plait::Mechanisms::Sidekiq.const_get(:Redis).patiently(20) { raise RedisClient::CommandError.parse("NOPERM this user has no permissions") }
    end
  end

  # It has answered, and then ended: its answer may be on the way at the first look.
  def test_a_process_is_dead_when_it_is_missed_twice
    { "without its connection" => signs_of(gone: [7]), "without a sign of life" => signs_of(dead: %w[a]) }.each do |how, signs|
      detector = detector_of(signs, patience)
      tasks = tasks_of(7, 8)

      assert_empty(detector.lost(tasks), how)
      assert_equal([tasks.first], detector.lost(tasks).map(&:first), how)
    end
  end

  # A user of Redis without the right to ask (as some services have them) waits for Sidekiq's own signs of life.
  def test_a_redis_that_does_not_list_connections
    with_redis do |_, channel, client|
      client.call("ACL", "SETUSER", "default", "-client|list")
      channel.open
      processes = Plait::Mechanisms::Sidekiq.const_get(:Processes).new(channel.instance_variable_get(:@redis))

      assert_empty(processes.gone([1 << 40]))
      client.call("ACL", "SETUSER", "default", "+client|list")
      assert_empty(processes.gone([1 << 40]), "it is not asked again")
    end
  end

  def test_a_connection_that_is_closed_is_gone
    with_redis do |redis, channel, client|
      other = RedisClient.config(url: redis.url).new_client
      number = other.call("CLIENT", "ID")
      processes = Plait::Mechanisms::Sidekiq.const_get(:Processes).new(channel.instance_variable_get(:@redis))

      assert_empty(processes.gone([number, client.call("CLIENT", "ID")]))
      other.close
      wait_until { processes.gone([number, client.call("CLIENT", "ID")]) == [number] }
    end
  end

  def test_a_copy_is_claimed_once
    with_redis do |_, channel, client|
      channel.open
      channel.offer(%w[0/1 1/1 2/1])

      assert_equal([true, false, false], [channel.reserve("0/1", 7), channel.reserve("0/1", 8), channel.withdraw("0/1")])
      assert_equal([true, false], [channel.withdraw("1/1"), channel.reserve("1/1", 7)])
      refute(channel.reserve("9/1", 7), "it was never offered")
      assert_equal([7, nil, nil], channel.owners(%w[0/1 1/1 2/1]))
      channel.reserve_again(%w[0/1 9/1], 12)
      assert_equal([12, nil], channel.owners(%w[0/1 9/1]))
      assert_equal(%w[0/1], channel.revoke)
      refute(channel.reserve("2/1", 7), "the run is over")
      assert_equal(["plait:run:#{channel.id}:news"], client.call("KEYS", "plait:*"))
    end
  end

  # The client of Redis sends a command again when its connection was cut: the first one may have arrived.
  def test_a_claim_that_was_sent_twice_holds
    with_redis do |_, channel, _|
      channel.open
      channel.offer(%w[0/1 1/1])

      assert_equal([true, true], [channel.reserve("0/1", 7), channel.reserve("0/1", 7)])
      assert_equal([true, true], [channel.withdraw("1/1"), channel.withdraw("1/1")])
      assert(channel.withdraw("9/1"), "it was lost on its way, so no process has it")
      assert_equal([false, true], [channel.reserve("0/1", 9, [8]), channel.reserve("0/1", 9, [8, 7])])
      assert_equal([9], channel.owners(%w[0/1]))
      channel.reserve_again(%w[0/1], 7)
      assert_equal([7, nil], channel.owners(%w[0/1 1/1]))
    end
  end

  # A connection may be cut between the reservation and the first look.
  def test_an_item_that_runs_is_reserved_again_by_each_new_connection
    with_redis do |redis, channel, client|
      channel.open
      channel.offer(%w[0/1])
      presence = presence_at(redis)
      presence.reserve(channel, "0/1")
      former = channel.owners(%w[0/1])
      client.call("CLIENT", "KILL", "ID", presence.instance_variable_get(:@connection).with { |one| one.call("CLIENT", "ID") })
      wait_until { presence.__send__(:look) && presence.instance_variable_get(:@number) != former.first }
      presence.over(channel, "0/1") do |work|
        work.call do
          wait_until { channel.owners(%w[0/1]) != former }
          former = channel.owners(%w[0/1])
          presence.part
          wait_until { channel.owners(%w[0/1]) != former }
        end
      end
    end
  end

  # After a restart Redis gives the number of a dead process's connection to another one.
  def test_two_processes_with_the_same_number_of_a_connection_are_two
    with_redis do |redis, channel, _|
      channel.open
      channel.offer(%w[0/1 1/1])
      presences = [presence_at(redis), presence_at(redis)]
      connection = presences.first.instance_variable_get(:@connection)
      presences.last.instance_variable_set(:@connection, connection)
      presences.zip(%w[0/1 1/1]) { |presence, copy| assert(presence.reserve(channel, copy)) }
      owners = channel.owners(%w[0/1 1/1])
      processes = Plait::Mechanisms::Sidekiq.const_get(:Processes).new(channel.instance_variable_get(:@redis))

      refute_equal(*owners)
      refute(channel.withdraw("0/1"), "numbers of this size add up without rounding")
      assert_equal(owners, channel.owners(%w[0/1 1/1]))
      assert_empty(processes.gone(owners))
      connection.with(&:close)
      wait_until { processes.gone(owners) == owners }
    end
  end

  def test_a_run_without_copies_ends_too
    with_redis do |_, channel, client|
      channel.open

      assert_empty(channel.revoke)
      assert_equal(0, client.call("EXISTS", channel.key))
    end
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

  # @return [LossDetector::Patience] none at all, but for what is given
  def patience(**seconds)
    none = { look: 0, unserved: 30, unreserved: 60, disconnected: 0, silent: 0, signs: 0 }
    kind = Plait::Mechanisms::Sidekiq.const_get(:LossDetector)::Patience
    kind.new(*{ **none, **seconds }.values_at(*kind.members))
  end

  def detector_of(signs, patience) = Plait::Mechanisms::Sidekiq.const_get(:LossDetector).new(signs, "q", patience)

  # As the processes of Sidekiq in Redis.
  def signs_of(served: true, gone: [], dead: [])
    Object.new.tap do |signs|
      signs.define_singleton_method(:served?) { |_queue| served }
      signs.define_singleton_method(:gone) { |numbers| numbers & gone }
      signs.define_singleton_method(:dead) { |workers| workers & dead }
    end
  end

  # @return [Array<Task>] one for each process; nil: none has reserved it
  def tasks_of(*processes)
    processes.map.with_index do |process, index|
      Plait::Mechanisms::Sidekiq.const_get(:Task).new(index, nil).tap do |task|
        task.copy_again
        task.process = process
        task.worker = "a" if process == 7
      end
    end
  end

  def with_worker(config = {})
    Support::RedisServer.start(config: config) do |redis|
      Support::SidekiqProcess.start(redis, JOBS) { |worker| yield redis, worker }
    end
  end

  def run_beside(redis, script, env = {})
    Support::FreshRuby.run(CALLER + script, env: { "REDIS_URL" => redis.url, **env })
  end

  # As another process of Sidekiq.
  def presence_at(redis)
    Plait::Mechanisms::Sidekiq.const_get(:ItemJob) # loads it
    Plait::Mechanisms::Sidekiq.const_get(:Presence).new.tap do |presence|
      presence.instance_variable_set(:@connection, RedisClient.config(url: redis.url).new_pool(size: 1))
    end
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
