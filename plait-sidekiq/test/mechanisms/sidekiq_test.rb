# frozen_string_literal: true

require "test_helper"
require_relative "sidekiq_cases"

# Many machines: here two processes of Sidekiq on one, and a Redis.
class SidekiqTest < Minitest::Test
  include SidekiqCases

  # Kept for all tests of the file: a process takes a second to come up.
  class << self
    def redis = @redis ||= Support::RedisServer.start.tap { |server| configure(server.url) }

    def workers = @workers ||= Array.new(2) { Support::SidekiqProcess.start(redis, SidekiqCases::JOBS) }

    private

    def configure(url)
      ::Sidekiq.configure_client { |config| config.redis = { url: url } }
      ::Sidekiq.default_configuration.logger.level = Logger::WARN
    end
  end

  def setup
    need_sidekiq
    self.class.workers
  end

  def test_results_come_in_the_order_of_the_items
    assert_equal((0...300).map { |n| n * 2 }, map(0...300, Jobs::Double, limit: 40))
  end

  def test_several_processes_share_the_work
    pids = map(1..200, Jobs::Pid, limit: 50).uniq

    assert_equal(self.class.workers.map(&:pid).sort, pids.sort)
  end

  def test_a_job_runs_on_every_mechanism
    %i[sequence threads fibers hybrid processes ractors].each do |on|
      next if Plait::Mechanisms.find(on).unavailable

      assert_equal([2, 4, 6], Plait.map([1, 2, 3], on: on, &Plait.job(Jobs::Double)), on)
    end
  end

  def test_plain_data_arrives_as_it_was
    items = [nil, true, false, 0, -(3**200), 1.5, "ä", "", [1, [nil]], { "a" => { "b" => [1.0] } }]

    assert_equal(items, map(items, Jobs::Echo))
  end

  def test_what_json_would_change_is_refused_by_name
    { :sym => "the item is of Symbol", [1, { "a" => [:b] }] => 'the item[1]["a"][0] is of Symbol',
      { b: 1 } => "a key of the item is of Symbol", "\xFF".b => "the item is a String that is not in UTF-8",
      Float::NAN => "the item is NaN", (1..2) => "the item is of Range" }.each do |item, message|
      error = assert_raises(Plait::UnmarshalableError) { map([item], Jobs::Echo) }
      assert_includes(error.message, message)
    end
  end

  def test_a_result_that_json_would_change_is_refused_by_name
    outcomes = collect(%w[symbol binary], Jobs::Fail)

    assert_equal([Plait::UnmarshalableError] * 2, outcomes.map { |outcome| outcome.error.class })
    assert_includes(outcomes.first.error.message, "the result is of Symbol")
  end

  def test_errors_come_back_as_they_were_raised
    plain, own, caused = collect(%w[raise own cause], Jobs::Fail).map(&:error)

    assert_equal([ArgumentError, "no good"], [plain.class, plain.message])
    assert(plain.backtrace.any? { |line| line.include?("sidekiq/jobs.rb") })
    assert_equal([Jobs::Refused, "refused"], [own.class, own.message])
    assert_equal([KeyError, RuntimeError, "inner"], [caused.class, caused.cause.class, caused.cause.message])
  end

  def test_a_message_of_bytes_is_read_as_far_as_it_can_be
    messages = collect(%w[bytes odd], Jobs::Fail).map { |outcome| outcome.error.message }

    assert_equal(["d\u00e9j\u00e0 \uFFFD", "in UTF-7"], messages)
  end

  def test_a_job_whose_class_can_not_be_loaded_is_told
    error = collect([1], Jobs::Broken).first.error

    assert_equal([KeyError, "no API_KEY here"], [error.class, error.message])
  end

  def test_a_job_that_ends_its_thread_is_told
    lone do |_, queue|
      outcome = Plait.map(["exit thread"], on: :sidekiq, on_error: :collect, &Plait.job(Jobs::Fail, queue: queue)).first

      assert_instance_of(Plait::WorkerDied, outcome.error)
      assert_match(/that ran item 0 ended before it answered/, outcome.error.message)
    end
  end

  def test_a_job_that_waits_for_its_own_places_is_refused
    error = assert_raises(Plait::UsageError) { map(["default"], Jobs::Outer) }

    assert_match(/they wait without end. Give the inner jobs a queue of their own/, error.message)
    lone { |_, queue| assert_equal([[2, 4]], map([queue], Jobs::Outer)) }
  end

  def test_seconds_that_json_does_not_have_are_taken_as_elsewhere
    options = { timeout: Float::INFINITY, retries: { count: 1, base: 1/2r, max: Float::INFINITY } }

    assert_equal([2], map([1], Jobs::Double, **options))
    assert_instance_of(Plait::TimeoutError, in_folder { |folder| collect([folder], Jobs::Wait, timeout: 1/5r) }.first.error)
  end

  def test_exit_is_the_callers_affair
    assert_equal(3, assert_raises(SystemExit) { collect(%w[exit], Jobs::Fail) }.status)
  end

  def test_retries_are_made_where_the_job_runs
    Dir.mktmpdir do |folder|
      outcome = collect([[folder, 3]], Jobs::Flaky, retries: { count: 5, base: 0.01, on: IOError }).first

      assert_equal(["at last", 3], [outcome.value, outcome.attempts])
    end
  end

  def test_what_is_not_to_be_retried_is_not
    Dir.mktmpdir do |folder|
      outcome = collect([[folder, 3]], Jobs::Flaky, retries: { count: 5, base: 0.01, on: KeyError }).first

      assert_equal([IOError, 1], [outcome.error.class, outcome.attempts])
    end
  end

  def test_a_timeout_ends_the_attempt_where_it_runs
    in_growing_times(0.2, 2, 20) do |seconds|
      in_folder do |folder|
        outcome = collect([folder], Jobs::Wait, timeout: seconds).first

        assert_instance_of(Plait::TimeoutError, outcome.error)
        wait_until { ended(folder) == 1 }
      end
    end
  end

  def test_a_deadline_ends_what_runs_and_what_waits
    in_folder do |folder|
      outcomes = collect([folder] * 12, Jobs::Wait, deadline: 1)

      assert_equal([Plait::DeadlineExceeded], outcomes.map { |outcome| outcome.error.class }.uniq)
      wait_until { ended(folder) == begun(folder) }
    end
  end

  def test_the_first_failure_ends_the_others
    in_folder do |folder|
      error = assert_raises(ArgumentError) { map([folder, folder, "fail"], Jobs::Wait) }

      assert_match(/item 2/, error.message)
      wait_until { ended(folder) == begun(folder) }
    end
  end

  def test_jobs_that_nobody_wants_any_more_are_passed_over
    in_folder do |folder|
      thread = Thread.new { map([folder] * 40, Jobs::Wait, limit: 40) }
      thread.report_on_exception = false
      wait_until { begun(folder) == 8 }
      thread.kill.join
      wait_until { redis("LLEN", "queue:default").zero? }

      assert_equal(8, begun(folder))
      wait_until { ended(folder) == 8 }
    end
  end

  def test_a_caller_that_was_killed_leaves_nothing
    in_folder do |folder|
      before = redis("KEYS", "plait:run:*")
      pid = fork_caller(folder)
      wait_until { begun(folder).positive? }
      Process.kill(:KILL, pid)
      Process.wait(pid)
      runs = redis("KEYS", "plait:run:*") - before

      assert_equal(3, runs.size)
      runs.each { |key| assert_operator(redis("TTL", key), :>, 0) }
      redis("DEL", *runs) # as after a minute
      wait_until { ended(folder) == begun(folder) }
    end
  end

  def test_a_caller_that_slept_for_long_is_told_what_was_ended_meanwhile
    in_folder do |folder|
      results = Thread.new { collect([folder], Jobs::Wait) }
      wait_until { begun(folder) == 1 }
      redis("DEL", *redis("KEYS", "plait:run:*").grep(/\Aplait:run:\h+\z/))
      outcome = results.value.first

      assert_instance_of(Plait::WorkerDied, outcome.error)
      assert_match(/had given no sign of life/, outcome.error.message)
    end
  end

  # By its connection: Sidekiq itself would not know for a minute.
  def test_a_process_that_was_killed_is_told
    in_folder do |folder|
      lone do |worker, queue|
        job = Plait.job(Jobs::Wait, queue: queue)
        results = Thread.new { Plait.map([folder], on: :sidekiq, on_error: :collect, &job) }
        wait_until { begun(folder) == 1 }
        worker.kill
        outcome = results.value.first

        assert_instance_of(Plait::WorkerDied, outcome.error)
        assert_match(/process \S+:\d+:\h+ died before it answered for item 0/, outcome.error.message)
      end
    end
  end

  # Its connection is there: the process was stopped.
  def test_a_process_without_a_sign_of_life_is_told
    in_folder do |folder|
      lone do |worker, queue|
        results = Thread.new { run_with_short_patience([folder], Jobs::Wait, queue) }
        wait_until { begun(folder) == 1 }
        worker.signal(:STOP)
        worker.forget
        outcome = results.value.first
        worker.signal(:CONT)

        assert_instance_of(Plait::WorkerDied, outcome.error)
      end
    end
  end

  def test_an_item_whose_process_was_killed_is_run_again_where_retries_allow_it
    in_folder do |folder|
      lone do |worker, queue|
        results = Thread.new { run_with_short_patience([folder], Jobs::Wait, queue, retries: { count: 1, base: 0.01, on: Plait::WorkerDied }) }
        wait_until { begun(folder) == 1 }
        worker.restart(:KILL) { File.write(File.join(folder, "go"), "") }
        outcome = results.value.first

        assert_equal(["gone on", 2], [outcome.value, outcome.attempts])
      end
    end
  end

  # Its process was killed between taking and beginning it. Others' jobs in the queue don't hide that.
  def test_an_item_that_was_taken_and_not_begun_is_sent_again
    outcomes = nil
    logged_by_sidekiq do
      run = Thread.new { run_with_short_patience([1], Jobs::Double, "busy", unserved: 120) }
      taken = take_from("busy")
      redis("LPUSH", "queue:busy", JSON.generate("class" => "Other", "enqueued_at" => Time.now.to_f + 3600))
      wait_until { redis("LLEN", "queue:busy") == 2 }
      redis("LPUSH", "queue:busy", taken) # the copy that counts no more
      redis("LREM", "queue:busy", 0, redis("LINDEX", "queue:busy", -1))
      Support::SidekiqProcess.start(self.class.redis, JOBS, queue: "busy", concurrency: 1) { outcomes = run.value }
    end

    assert_equal([2], outcomes.map(&:value))
  end

  def test_a_copy_that_another_one_has_replaced_does_not_run
    in_folder do |folder|
      lone do |worker, queue|
        run = nil
        logged_by_sidekiq do
          worker.stop
          run = Thread.new { run_with_short_patience([folder], Jobs::Wait, queue, unserved: 120) }
          taken = take_from(queue)
          wait_until { redis("LLEN", "queue:#{queue}") == 1 }
          redis("RPUSH", "queue:#{queue}", taken)
          worker.start
          wait_until { redis("LLEN", "queue:#{queue}").zero? && begun(folder) == 1 }
          File.write(File.join(folder, "go"), "")

          assert_equal(["gone on"], run.value.map(&:value))
        end
        assert_equal(1, begun(folder))
      end
    end
  end

  # The client of Redis sends a command again whose answer was lost.
  def test_a_message_that_comes_twice_or_late_counts_once
    outcomes = nil
    logged_by_sidekiq do
      run = Thread.new { run_with_short_patience([1], Jobs::Double, "twice", unserved: 600, unreserved: 600) }
      order = JSON.parse(take_from("twice")).fetch("args").first
      kind = Plait::Mechanisms::Sidekiq
      channel = kind.const_get(:Channel).new(kind.const_get(:Redis).pool(1), order.fetch("run"))
      %w[returned returned died ended].each { |word| channel.report([word, 0, order.fetch("copy"), "worker"]) }
      channel.report(["done", 0, ["worker", 1, 0.1], 2])
      outcomes = run.value
    end

    assert_equal([2], outcomes.map(&:value))
    assert_equal(1, redis("LLEN", "queue:twice"))
  ensure
    redis("DEL", "queue:twice")
  end

  # It is as lost: the process lives, and closes the connection by which the caller knows it.
  def test_an_answer_that_can_not_be_sent_is_told
    in_folder do |folder|
      lone do |_, queue|
        results = Thread.new { run_with_short_patience([folder], Jobs::Wait, queue, deadline: 90) }
        wait_until { begun(folder) == 1 }
        redis("ACL", "SETUSER", "default", "-xadd")
        File.write(File.join(folder, "go"), "")
        outcome = results.value.first

        assert_instance_of(Plait::WorkerDied, outcome.error)
      end
    end
  ensure
    redis("ACL", "SETUSER", "default", "+xadd")
  end

  def test_an_item_that_is_never_begun_is_told
    outcomes = nil
    logged_by_sidekiq do
      run = Thread.new { run_with_short_patience([1], Jobs::Double, "nobodys", unserved: 120) }
      3.times { take_from("nobodys") }
      outcomes = run.value
    end

    assert_instance_of(Plait::WorkerDied, outcomes.first.error)
    assert_match(/took item 0 from its queue and has not started it/, outcomes.first.error.message)
  end

  def test_an_item_that_is_never_begun_is_tried_again_as_often_as_is_asked
    logged_by_sidekiq do
      run = Thread.new { run_with_short_patience([1], Jobs::Double, "again", unserved: 120, unreserved: 0.1, retries: 1) }
      4.times { take_from("again") }

      assert_instance_of(Plait::WorkerDied, run.value.first.error)
    end
  end

  def test_a_queue_that_nobody_serves_is_told
    error = nil
    logged = logged_by_sidekiq do
      error = assert_raises(Plait::UnsupportedError) { run_with_short_patience([1], Jobs::Double, "lonely", unserved: 3) }
    end

    assert_match(/no process of Sidekiq takes jobs from the queue "lonely": start one with/, error.message)
    assert_equal(1, logged.scan(error.message).size)
  end

  # From Sidekiq 8.1 on there are no "queues" in what a process writes of itself.
  def test_a_process_that_tells_its_queues_otherwise
    redis("SADD", "processes", "newer:1:a")
    redis("HSET", "newer:1:a", "info", '{"hostname":"newer","pid":1,"identity":"newer:1:a"}', "busy", 0, "beat", 1)
    Plait::Mechanisms::Sidekiq.const_get(:Run) # loads the others
    census = Plait::Mechanisms::Sidekiq.const_get(:Processes).new(nil)

    assert(census.served?("default"))
    refute(census.served?("another"))
  ensure
    redis("SREM", "processes", "newer:1:a")
    redis("DEL", "newer:1:a")
  end

  def test_a_job_that_the_process_does_not_know_is_told
    Jobs.const_set(:Unknown, Class.new { def call(item) = item })
    error = assert_raises(Plait::UsageError) { map([1], Jobs::Unknown) }

    assert_match(/this process knows no Jobs::Unknown: load it before/, error.message)
  ensure
    Jobs.__send__(:remove_const, :Unknown)
  end

  def test_a_process_that_ends_gives_its_jobs_back
    in_folder do |folder|
      results = Thread.new { map([folder] * 6, Jobs::Wait) }
      wait_until { begun(folder) == 6 }
      first = self.class.workers.first
      first.restart { File.write(File.join(folder, "go"), "") }

      assert_equal(["gone on"] * 6, results.value)
    end
  end

  def test_nothing_is_left_in_redis
    before = redis("KEYS", "plait:*") # of a run that its deadline has ended, for two minutes
    map(1..20, Jobs::Double)

    assert_empty(redis("KEYS", "plait:*") - before)
  end

  def test_nothing_is_left_here
    map([1], Jobs::Double)

    assert_no_leaks { map(1..5, Jobs::Double) }
  end

  def test_many_runs_at_once_do_not_mix_up_their_results
    runs = Array.new(8) { |number| Thread.new { map(Array.new(50) { |n| [number, n] }, Jobs::Echo, limit: 10) } }

    runs.each_with_index { |run, number| assert_equal(Array.new(50) { |n| [number, n] }, run.value) }
  end

  def test_in_a_fiber_others_go_on
    turns = 0
    result = Plait.run(on: :fibers) do |scope|
      ticking = scope.async { loop { turns += 1 and sleep(0.005) } }
      map(1..50, Jobs::Double, limit: 5).tap { ticking.cancel }
    end

    assert_equal(50, result.size)
    assert_operator(turns, :>, 2)
  end

  def test_results_come_as_they_are_there
    in_folder do |folder|
      outcomes = Plait.each_result([folder, "at once"], on: :sidekiq, &Plait.job(Jobs::Wait))
      File.write(File.join(folder, "go"), "") if outcomes.next.index == 1

      assert_equal(0, outcomes.next.index)
      assert_raises(StopIteration) { outcomes.next }
    end
  end

  def test_a_redis_that_is_not_there_is_named
    port = Support::Server.free_port
    script = <<~RUBY
      require "sidekiq"
      Sidekiq.configure_client { |config| config.redis = { url: "redis://127.0.0.1:#{port}/0" } }
      require "plait"
      class Job; def call(item) = item; end
      begin
        Plait.map([1], on: :sidekiq, &Plait.job(Job))
      rescue Plait::ConnectionError => e
        puts e.message, e.endpoint
      end
    RUBY
    result = Support::FreshRuby.run(script)

    assert_match(/the Redis of Sidekiq can't be reached, or refuses/, result.out)
    assert_includes(result.out, ":#{port}")
  end

  def test_a_redis_that_goes_away_ends_the_run
    Support::RedisServer.start do |redis|
      killer = Thread.new { wait_until { RedisClient.new(url: redis.url).call("LLEN", "queue:default") == 1 } && redis.kill }
      script = <<~RUBY
        require "plait"
        require "sidekiq"
        Plait::Mechanisms::Sidekiq.const_get(:Run) # loads the others
        Plait::Mechanisms::Sidekiq.const_get(:Listener).__send__(:remove_const, :OUTAGE)
        Plait::Mechanisms::Sidekiq.const_get(:Listener)::OUTAGE = 1
        class Job; def call(item) = item; end
        begin
          Plait.map([1], on: :sidekiq, &Plait.job(Job))
        rescue Plait::ConnectionError => e
          puts e.message
        end
      RUBY
      result = Support::FreshRuby.run(script, env: { "REDIS_URL" => redis.url })
      killer.join

      assert_match(/the Redis of Sidekiq can't be reached/, result.out, result.err)
    end
  end

  def test_misuse_is_told
    assert_told(/runs jobs, which have a name/) { Plait.map([1], on: :sidekiq) { |n| n } }
    assert_told(/a job answers to call/) { Plait.job(String) }
    assert_told(/with a name/) { Plait.job(Class.new { def call(item) = item }) }
    assert_told(/queue: names a queue/) { Plait.job(Jobs::Double, queue: :q) }
    assert_told(/retries:.* is of Class/, Plait::UnmarshalableError) { map([1], Jobs::Double, retries: { on: Class.new(StandardError) }) }
    assert_told(/Plait.run runs blocks/, Plait::UnsupportedError) { Plait.run(on: :sidekiq) { nil } }
  end

  private

  def redis(*words) = self.class.workers.first.redis(*words)

  def assert_told(message, kind = Plait::UsageError, &block) = assert_match(message, assert_raises(kind, &block).message)

  def map(items, job, **options) = Plait.map(items, on: :sidekiq, **options, &Plait.job(job))

  def collect(items, job, **options) = map(items, job, on_error: :collect, **options)

  def logged_by_sidekiq
    config = ::Sidekiq.default_configuration
    before = config.logger
    config.logger = Logger.new(text = StringIO.new)
    yield
    text.string
  ensure
    config.logger = before
  end

  # As a process that is killed right then.
  def take_from(queue)
    taken = nil
    wait_until { taken = redis("RPOP", "queue:#{queue}") }
    taken
  end

  # Looks often, and takes for dead at once what Sidekiq gives a minute.
  def run_with_short_patience(items, job, queue, unserved: 30, unreserved: 0.5, **options)
    Plait::Mechanisms::Sidekiq.const_get(:Run) # loads the others
    patience = Plait::Mechanisms::Sidekiq.const_get(:LossDetector)::Patience.new(0.1, unserved, unreserved, 0.5, 0.5, 0.1)
    mechanism = Plait::Mechanisms::Sidekiq.new(patience: patience)
    policy = Plait::Mechanisms::Options.new(on_error: unserved < 30 ? :raise : :collect, **options)
    Plait.const_get(:Coordinator).new(mechanism, items, policy, Plait.job(job, queue: queue)).map
  end

  # A process of Sidekiq with a queue of its own.
  def lone
    queue = "lone#{rand(1 << 32)}"
    Support::SidekiqProcess.start(self.class.redis, JOBS, queue: queue, concurrency: 1) { |worker| yield worker, queue }
  end

  def in_folder
    Dir.mktmpdir do |folder|
      yield folder
    ensure
      File.write(File.join(folder, "go"), "")
    end
  end

  def begun(folder) = Dir.glob("begun-*", base: folder).size

  def ended(folder) = Dir.glob("ended-*", base: folder).size

  def fork_caller(folder)
    script = <<~RUBY
      require #{JOBS.dump}
      Plait.map([ARGV.first] * 4, on: :sidekiq, &Plait.job(Jobs::Wait))
    RUBY
    environment = { "REDIS_URL" => self.class.redis.url }
    Process.spawn(environment, RbConfig.ruby, *Support::FLAGS, "-e", script, folder, %i[out err] => File::NULL)
  end
end
