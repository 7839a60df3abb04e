# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "plait/cli"
require "plait/cli/fetch/client"
require "plait/cli/fetch/record"
require_relative "support/origin"

class FetchClientTest < Minitest::Test
  Fetch = Plait::CLI::Fetch
  Settings = Struct.new(:timeout, :limit, :retries, :request, :client, keyword_init: true)

  def teardown
    Support::Origin.stop_all
    super
  end

  def test_another_attempt_after_the_time_that_the_server_asks_for
    site = origin { |_, nth| nth == 1 ? [503, { "Retry-After" => "1" }, ""] : [200, {}, "x"] }
    result = client.perform(job(site.url("/a")))
    assert_equal [200, 2, "x"], [result.status, result.attempts, result.body]
    assert_operator site.requests[1].at - site.requests[0].at, :>=, 0.9
  end

  def test_the_host_is_left_alone_by_other_jobs_and_after_the_last_attempt_too
    site = origin { |path, _| path == "/a" ? [429, { "Retry-After" => "1" }, ""] : [200, {}, "x"] }
    fetcher = client(retries: 0)
    assert_equal([429, 200], %w[/a /b].map { |path| fetcher.perform(job(site.url(path))).status })
    assert_operator site.requests[1].at - site.requests[0].at, :>=, 0.9
  end

  def test_a_host_that_asks_for_too_long_is_given_up
    site = origin { [503, { "Retry-After" => "86400" }, ""] }
    fetcher = client
    results = Array.new(2) { fetcher.perform(job(site.url("/a"))) }
    assert_equal([["status_503", 1], ["retry_after", 0]], results.map { |result| [result.kind, result.attempts] })
    assert_equal 1, site.requests.size
    assert_equal 200, fetcher.perform(job(origin.url("/", host: "localhost"))).status
  end

  def test_a_request_that_may_do_something_twice_is_not_repeated
    site = origin { [503, {}, ""] }
    assert_equal [503, 1], client(request: { method: "POST", body: "a" }).perform(job(site.url("/"))).to_a.values_at(0, 11)
    assert_equal [503, 3], client.perform(job(site.url("/"))).to_a.values_at(0, 11)
  end

  def test_each_attempt_has_the_whole_time
    in_growing_times(1.0, 10.0) do |seconds|
      site = origin { |_, nth| nth < 3 ? sleep(100) : [200, {}, "x"] }
      assert_equal [200, 3], client(timeout: seconds).perform(job(site.url("/"))).to_a.values_at(0, 11)
    end
  end

  # The time of an attempt counts from the attempt on, and not from the job's beginning.
  %i[fibers threads].each do |on|
    define_method(:"test_each_attempt_of_a_fan_out_on_#{on}_has_the_whole_time") do
      if on == :fibers && RUBY_ENGINE != "ruby"
        next assert_raises(Plait::UnsupportedError) { client.fan_out([job("http://127.0.0.1:1/")], on: on) }
      end

      in_growing_times(1.0, 10.0) do |seconds|
        site = origin { |_, nth| nth < 3 ? sleep(100) : [200, {}, "x"] }
        result = client(timeout: seconds).fan_out([job(site.url("/"))], on: on).first
        assert_equal [200, 3], result.to_a.values_at(0, 11)
      end
    end
  end

  def test_nothing_begins_after_stop_and_a_pause_ends
    site = origin { [503, { "Retry-After" => "3000" }, ""] }
    fetcher = client
    thread = Thread.new { fetcher.perform(job(site.url("/"))) }
    thread.report_on_exception = false
    wait_until { site.requests.size == 1 }
    assert_equal 1, fetcher.active
    fetcher.stop
    assert_raises(Plait::CancelledError) { thread.value }
    assert_raises(Plait::CancelledError) { fetcher.perform(job(site.url("/"))) }
    assert_equal [1, 0], [site.requests.size, fetcher.active]
  end

  def test_threads_share_connections
    site = origin
    fetcher = client
    threads = Array.new(8) { Thread.new { fetcher.perform(job(site.url("/"))).status } }
    assert_equal [200] * 8, threads.map(&:value)
    assert_equal 0, fetcher.active
  end

  def test_hosts
    { "http://H:8/x" => "h", "http://u:p@h" => "h", "https://[::1]:8/" => "[::1]" }.each { |url, host| assert_equal host, job(url).host }
  end

  private

  def origin(&) = Support::Origin.start(&)

  def client(timeout: 30.0, retries: 2, request: { method: "GET" })
    Fetch::Client.new(Settings.new(timeout: timeout, limit: 8, retries: retries, request: request, client: {}))
  end

  def job(url) = Fetch::Job.new(1, url)
end
