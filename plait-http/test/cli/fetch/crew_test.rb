# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "plait/cli"
require "plait/cli/fetch/crew"
require "plait/cli/fetch/job"
require "plait/cli/fetch/rate"
require "plait/cli/fetch/schedule"

class FetchCrewTest < Minitest::Test
  Fetch = Plait::CLI::Fetch
  MECHANISMS = [:sequence, :threads, :fibers, :hybrid, :processes, %i[processes fibers]]
               .select { |on| Plait::Mechanisms.find(on).unavailable.nil? }

  # A list, then nil.
  class Source
    attr_reader :jobs

    def initialize(jobs) = @jobs = jobs

    def take = @jobs.shift
  end

  MECHANISMS.each do |on|
    name = Array(on).join("_")

    define_method(:"test_each_job_once_on_#{name}") do
      fetched = []
      fetch(jobs(40), on: on) { |job, result| fetched << [job.line, result.status, result.body] if job }
      assert_equal((1..40).map { |line| [line, 200, "body #{line}"] }, fetched.sort)
    end

    define_method(:"test_an_exception_ends_it_on_#{name}") do
      body = ->(job) { job.line == 2 ? raise(Plait::UsageError, "wrong") : ok(job) }
      error = assert_raises(Plait::UsageError) { fetch(jobs(100), on: on, body: body) { nil } }
      assert_includes error.message, "wrong"
    end

    define_method(:"test_a_rate_holds_on_#{name}") do
      moments = []
      began = Plait::Deadline.now
      body = ->(_) { Fetch::Result.new(status: 200, body: Plait::Deadline.now.to_s) }
      fetch(jobs(9), on: on, body: body, rate: Fetch::Rate.new(40)) { |job, result| moments << result.body.to_f if job }
      assert_operator moments.max - began, :>=, (8 / 40.0) - Fetch::Rate::SLACK
    end
  end

  (MECHANISMS - [:sequence]).each do |on|
    define_method(:"test_the_caller_gets_a_word_in_on_#{Array(on).join("_")}") do
      ticks = 0
      fetch(jobs(1), on: on, body: ->(job) { sleep(1) && ok(job) }) { |job, _| ticks += 1 unless job }
      assert_operator ticks, :>=, 2
    end
  end

  def test_a_worker_that_dies_is_the_failure_of_its_job
    skip "no fork here" unless MECHANISMS.include?(:processes)
    results = {}
    body = ->(job) { job.line == 2 ? Process.kill(:KILL, Process.pid) && sleep : ok(job) }
    fetch(jobs(9), on: :processes, body: body) { |job, result| results[job.line] = result.kind if job }
    assert_equal({ 2 => "worker_died" }, results.compact)
    assert_equal 9, results.size
  end

  def test_no_more_at_once_than_the_limit
    running, most = 0, 0
    body = lambda do |job|
      most = [most, running += 1].max
      sleep(0.01)
      running -= 1
      ok(job)
    end
    fetch(jobs(20), on: :threads, limit: 3, body: body) { nil }
    assert_equal 3, most
  end

  def test_jobs_that_come_while_others_run
    jobs = jobs(1)
    seen = []
    fetch(jobs, on: :threads) do |job, _|
      seen << job.line if job
      jobs << job(seen.size + 1) if job && seen.size < 5
    end
    assert_equal [1, 2, 3, 4, 5], seen
  end

  def test_another_attempt
    schedule = Fetch::Schedule.new(Source.new(jobs(1)), per_host: 9)
    attempts = []
    crew(:threads).each_result(schedule) do |job, _|
      next unless job

      attempts << job.attempts
      schedule.again(job, Plait::Deadline.now + 0.01) if job.attempts < 3
    end
    assert_equal [1, 2, 3], attempts
  end

  def test_an_exception_of_the_caller_leaves_nothing_running
    assert_no_leaks do
      body = ->(job) { sleep(0.01) && ok(job) }
      assert_raises(IOError) { fetch(jobs(20), on: :threads, body: body) { raise IOError, "full" } }
    end
  end

  def test_after_stop_what_is_under_way_is_waited_for
    schedule = Fetch::Schedule.new(Source.new(jobs(50)), per_host: 9)
    lines = []
    crew(:threads, limit: 4, body: ->(job) { sleep(0.02) && ok(job) }).each_result(schedule) do |job, _|
      lines << job.line if job
      schedule.stop
    end
    assert_equal [1, 2, 3, 4], lines.sort
  end

  private

  def fetch(jobs, on:, limit: 8, rate: nil, body: method(:ok), &block)
    schedule = Fetch::Schedule.new(Source.new(jobs), per_host: 100, rate: rate)
    crew(on, limit: limit, body: body).each_result(schedule, &block)
  end

  def crew(on, limit: 8, body: method(:ok)) = Fetch::Crew.new(body, on: on, limit: limit)

  def ok(job) = Fetch::Result.new(status: 200, body: "body #{job.line}")

  def jobs(count) = (1..count).map { |line| job(line) }

  def job(line) = Fetch::Job.new(line: line, url: "http://h/#{line}", host: "h", depth: 0, attempts: 0)
end
