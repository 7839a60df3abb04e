# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "plait/cli"
require "plait/cli/fetch/rate"
require "plait/cli/fetch/schedule"

class FetchScheduleTest < Minitest::Test
  Fetch = Plait::CLI::Fetch

  # Gives what it has; then nil, or :wait while it is open.
  class Source
    attr_reader :jobs
    attr_accessor :open

    def initialize(jobs) = @jobs = jobs

    def take = @jobs.shift || (@open ? :wait : nil)
  end

  def test_never_more_at_once_to_a_host_than_allowed
    schedule = schedule(%w[a1 a2 a3 b4 a5 b6], per_host: 2)
    assert_equal %w[a1 a2 b4 b6], taken(schedule)
    schedule.finished(@given[0], 0)
    assert_equal %w[a3], taken(schedule)
    schedule.finished(@given[2], 0)
    assert_empty taken(schedule)
    schedule.finished(@given[1], 0)
    assert_equal %w[a5], taken(schedule)
    assert_equal 3, schedule.active
    refute schedule.over?(0)
    finish_all(schedule)
    assert schedule.over?(0)
  end

  def test_hosts_take_turns
    schedule = schedule([*(1..6).map { |n| "a#{n}" }, *(7..9).map { |n| "b#{n}" }], per_host: 1)
    order = []
    while (job = schedule.take(0))
      both = [job, schedule.take(0)].compact
      order.concat(both.map(&:url))
      both.each { |one| schedule.finished(one, 0) }
    end
    assert_equal %w[a1 b7 a2 b8 a3 b9 a4 a5 a6], order
  end

  def test_it_reads_no_further_ahead_than_the_window
    source = Source.new(Array.new(20_000) { |n| job("a#{n}") })
    schedule = Fetch::Schedule.new(source, per_host: 2)
    3.times { schedule.take(0) }
    assert_in_delta 20_000 - Fetch::Schedule::WINDOW, source.jobs.size, 3
    1000.times { |n| source.jobs.unshift(job("b#{n}")) }
    assert_nil schedule.take(0)
  end

  def test_only_as_much_as_needed_is_read
    source = Source.new(Array.new(100) { |n| job(n.to_s) })
    schedule = Fetch::Schedule.new(source, per_host: 1)
    5.times { schedule.take(0) }
    assert_operator source.jobs.size, :>=, 94
  end

  def test_hosts_that_are_done_are_forgotten
    source = Source.new(Array.new(5000) { |n| job(n.to_s) })
    schedule = Fetch::Schedule.new(source, per_host: 1)
    while (job = schedule.take(0))
      schedule.finished(job, 0)
    end
    assert schedule.over?(0)
    assert_empty schedule.instance_variable_get(:@hosts)
  end

  def test_a_host_that_asks_for_a_pause_gets_it_and_holds_up_nobody
    schedule = schedule(%w[a1 a2 b3 b4], per_host: 1)
    assert_equal %w[a1 b3], taken(schedule)
    schedule.finished(@given[0], 0)
    schedule.pause("a", 5.0)
    schedule.pause("a", 3.0)
    schedule.finished(@given[1], 0)
    assert_equal [%w[b4], 5.0], [taken(schedule), schedule.wait(0)]
    assert_empty taken(schedule, 4.9)
    assert_in_delta 0.1, schedule.wait(4.9)
    assert_equal %w[a2], taken(schedule, 5.0)
  end

  def test_another_attempt_at_its_time
    schedule = schedule(%w[a1], per_host: 1)
    job = schedule.take(0)
    schedule.finished(job, 0)
    schedule.again(job, 2.0)
    refute schedule.over?(0)
    assert_equal [nil, 1.5], [schedule.take(0.5), schedule.wait(0.5)]
    assert_same job, schedule.take(2.0)
    schedule.finished(job, 2.0)
    assert schedule.over?(2.0)
  end

  def test_a_distance_between_two_requests
    schedule = schedule(%w[a1 a2 a3], per_host: 3)
    schedule.space_out("a", 2.0)
    assert_equal([%w[a1], [], %w[a2], [], %w[a3]], [1.0, 2.9, 3.0, 3.1, 5.0].map { |now| taken(schedule, now) })
  end

  def test_a_host_that_is_given_up
    refused = []
    schedule = schedule(%w[a1 a2 b3], per_host: 1) { |job| refused << job.url }
    assert_equal %w[a1 b3], taken(schedule)
    schedule.finished(@given[0], 0)
    schedule.close("a")
    assert_equal %w[a2], refused
    schedule.again(job("a4"), 1.0)
    assert_empty taken(schedule, 1.0)
    assert_equal %w[a2 a4], refused
    finish_all(schedule, 1)
    assert schedule.over?(1.0)
  end

  def test_a_rate
    schedule = schedule((1..9).map { |n| "a#{n}" }, per_host: 9, rate: Fetch::Rate.new(4))
    assert_equal([%w[a1], [], %w[a2], %w[a3]], [0.0, 0.24, 0.25, 0.5].map { |now| taken(schedule, now) })
    assert_in_delta 0.15, schedule.wait(0.6)
  end

  def test_more_may_come
    source = Source.new([job("a1")])
    source.open = true
    schedule = Fetch::Schedule.new(source, per_host: 1)
    schedule.finished(schedule.take(0), 0)
    assert_equal [nil, nil, false], [schedule.take(0), schedule.wait(0), schedule.over?(0)]
    source.jobs << job("a2")
    assert_equal "a2", schedule.take(0).url
    source.open = false
    refute schedule.over?(0)
    schedule.finished(job("a2"), 0)
    source.jobs << job("a3") # a link of the last page
    refute schedule.over?(0)
    schedule.finished(schedule.take(0), 0)
    assert schedule.over?(0)
  end

  def test_stopped
    schedule = schedule(%w[a1 b2 b3 b4], per_host: 1)
    assert_equal %w[a1 b2], taken(schedule)
    schedule.stop
    schedule.again(@given[0], 1.0)
    assert_equal [[], nil, false], [taken(schedule, 2.0), schedule.wait(0), schedule.over?(2.0)]
    finish_all(schedule)
    assert_equal [true, nil], [schedule.over?(0), schedule.take(9)]
  end

  # What was planned for a host that has been forgotten meanwhile.
  def test_a_pause_outlives_its_host
    schedule = schedule(%w[a1], per_host: 1)
    job = schedule.take(0)
    schedule.pause("a", 1.0)
    schedule.pause("a", 3.0)
    schedule.finished(job, 0)
    schedule.again(job, 1.0)
    assert_empty taken(schedule, 2.0)
    assert_equal %w[a1], taken(schedule, 3.0)
    schedule.finished(job, 3.0)
    assert_empty taken(schedule, 9.0)
    assert schedule.over?(9.0)
  end

  private

  def schedule(names, **options, &refuse)
    @given = []
    Fetch::Schedule.new(Source.new(names.map { |name| job(name) }), **options, &refuse)
  end

  def job(name) = Fetch::Job.new(line: 1, url: name, host: name[/\A[a-z]/] || name, attempts: 0)

  def taken(schedule, now = 0)
    found = []
    while (job = schedule.take(now))
      found << job
    end
    @given.concat(found)
    found.map(&:url)
  end

  def finish_all(schedule, now = 0)
    @given.last(schedule.active).each { |job| schedule.finished(job, now) }
  end
end
