# frozen_string_literal: true

require "test_helper"
require "etc"
require_relative "support/fetching"

# What a server sees.
class FetchPolitenessTest < Minitest::Test
  include Support::Fetching

  def test_no_more_at_once_to_a_host_than_allowed
    { "" => 6, "--per-host 2" => 2, "--per-host 1 --on threads" => 1 }.each do |options, most|
      give_up = Plait::Deadline.now + 30
      site = origin do
        sleep(0.01) until site.most >= most || Plait::Deadline.now > give_up # on a busy machine
        sleep(0.02) && [200, {}, "x"]
      end
      write_urls(site, 40)
      assert_equal 0, fetch("--from", "urls", "--out", "#{most}.jsonl", *options.split).code
      assert_equal most, site.most
    end
  end

  def test_processes_count_the_requests_of_their_own
    site = origin { sleep(0.02) && [200, {}, "x"] }
    write_urls(site, 40)
    assert_equal 0, fetch("--from", "urls", *%w[--out out.jsonl --per-host 1 --limit 8 --on processes+fibers]).code
    assert_includes 1..Etc.nprocessors, site.most
  end

  def test_a_slow_host_holds_up_nobody
    quick = origin
    slow = origin do |path, _|
      sleep(0.01) until path != "/4" || quick.requests.size == 30
      sleep(0.5) && [200, {}, "slow"]
    end
    urls = (1..6).map { |n| slow.url("/#{n}", host: "localhost") } + (1..30).map { |n| quick.url("/#{n}") }
    result = fetch_fed(urls.join("\n"), "--per-host", "1")
    assert_equal 0, result.code, result.err
    order = result.out.lines.map { |line| JSON.parse(line)["line"] }
    # The last of the quick ones was asked for by then, and may be written later.
    assert_operator order.index(4), :>=, 32, "all others are done before the fourth of the slow ones"
  end

  def test_a_rate
    site = origin
    write_urls(site, 40)
    assert_equal 0, fetch("--from", "urls", "--out", "out.jsonl", "--rate", "50/s").code
    moments = site.requests.map(&:at)
    assert_operator moments.last - moments.first, :>=, 39 / 50.0 / 2
  end

  def test_retry_after_holds_for_the_whole_host_and_only_for_it
    busy = origin { |path, nth| path == "/1" && nth == 1 ? [503, { "Retry-After" => "3" }, "later"] : [200, {}, path] }
    other = origin
    urls = [*(1..4).map { |n| busy.url("/#{n}") }, other.url("/5", host: "localhost")]
    result = fetch_fed(urls.join("\n"), "--per-host", "1", "--json", "sum.json")
    assert_equal 0, result.code, result.err
    assert_equal %w[/1 /1], busy.paths.sort.first(2)
    first, *others = busy.requests.map(&:at)
    assert_operator others.min - first, :>=, 2.9
    assert_operator other.requests.first.at, :<, others.min
    assert_equal([2, 1, 1, 1, 1], records(result.out).map { |record| record["attempts"] })
    assert_equal 1, JSON.parse(File.read(path("sum.json")))["retries"]
  end

  def test_a_host_that_asks_for_too_long_is_given_up
    busy = origin { [429, { "Retry-After" => "86400" }, ""] }
    other = origin
    urls = [*(1..4).map { |n| busy.url("/#{n}") }, other.url("/5", host: "localhost")]
    result = fetch_fed(urls.join("\n"), "--per-host", "1")
    assert_equal 1, result.code
    assert_equal(["status_429", *["retry_after"] * 3, nil], records(result.out).map { |record| record.dig("error", "kind") })
    assert_equal 1, busy.requests.size
  end

  def test_what_is_tried_again_and_what_is_not
    said = { "/closed" => [nil, nil, 200], "/502" => [502, 200], "/404" => [404], "/503" => [503] * 9 }
    site = origin { |path, nth| said[path][nth - 1]&.then { |status| [status, {}, "x"] } }
    result = fetch(*%w[/closed /502 /404 /503].map { |path| site.url(path) })
    assert_equal 1, result.code
    attempts, statuses = records(result.out).map { |record| record.values_at("attempts", "status") }.transpose
    assert_equal [[200, 200, 404, 503], [2, 1, 3]], [statuses, attempts.drop(1)]
    assert_includes 2..3, attempts.first # the client asks once more itself when a connection it had kept was closed
    assert_equal({ "/404" => 1, "/502" => 2, "/503" => 3, "/closed" => 3 }, site.paths.tally.sort.to_h)
    assert_equal 1, fetch(site.url("/503"), "--retries", "0").code
    assert_equal 4, site.paths.count("/503")
  end
end
