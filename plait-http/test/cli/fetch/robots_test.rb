# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "plait/cli"
require "plait/cli/fetch/job"
require "plait/cli/fetch/result"
require "plait/cli/fetch/robots"

# RFC 9309
class FetchRobotsTest < Minitest::Test
  Fetch = Plait::CLI::Fetch
  Rules = Fetch::Robots::Rules

  def test_the_longest_rule_decides_and_allow_wins_a_tie
    rules = rules("User-agent: *\nDisallow: /a\nAllow: /a/b\nDisallow: /a/b/c\nDisallow: /t\nAllow: /t")
    assert_equal [true, false, true, false, true, true], allowed(rules, "/", "/a", "/a/b", "/a/b/c", "/t", "/robots.txt")
    assert rules("User-agent: *\nDisallow: /").allow?("/robots.txt")
  end

  # The examples of §5.1, with this crawler in the place of theirs.
  def test_groups
    text = <<~TEXT
      User-Agent: *
      Disallow: *.gif$
      Disallow: /example/
      Allow: /publications/

      User-Agent: foobot
      User-Agent: Plait
      Disallow:/
      Allow:/example/page.html
      Allow:/example/allowed.gif
    TEXT
    paths = %w[/example/page.html /example/allowed.gif / /publications/]
    assert_equal [true, true, false, false], allowed(rules(text), *paths)
    others = rules(text, agent: "other")
    assert_equal [false, true, false, true], allowed(others, "/x.gif", "/x.gifs", "/example/a", "/publications/x.html")
  end

  def test_groups_of_the_same_name_are_one
    text = "user-agent: plait\ndisallow: /a\n\nuser-agent: x\ndisallow: /\n\nUSER-AGENT: plait/2.0 (robot)\ndisallow: /b\n"
    assert_equal [false, false, true], allowed(rules(text), "/a", "/b", "/c")
  end

  def test_nothing_for_us_is_everything
    ["", "User-agent: other\nDisallow: /", "Disallow: /", "User-agent: *\nDisallow:", "<html>", "\xFF\x00:\n"].each do |text|
      assert rules(text).allow?("/x"), text
    end
  end

  def test_an_empty_rule_closes_a_group
    text = "User-agent: plait\nDisallow:\nUser-agent: other\nDisallow: /\n"
    assert rules(text).allow?("/x")
    refute rules("User-agent: plait\nSitemap: http://a/\nUser-agent: other\nDisallow: /\n").allow?("/x")
    refute rules("User-agent: *\nDisallow:\nDisallow: /x\n").allow?("/x")
  end

  def test_lines
    ["User-agent: *\rDisallow: /x\r", "\xEF\xBB\xBFUser-agent: *\r\n  Disallow  :  /x   # why\r\n",
     "user-agent:*\ndisallow:/x"].each do |text|
      assert_equal [false, true], allowed(rules(text), "/x", "/y"), text.inspect
    end
  end

  def test_wildcards
    { "/a*b" => [["/ab", "/axxb/", "/a/b?c"], ["/a", "/xab"]],
      "/*.php$" => [["/x.php", "/.php", "/a.php/b.php"], ["/x.php5", "/x.php?y"]],
      "/$" => [["/"], ["/a"]], "/a$b" => [["/a$b"], ["/a"]], "*" => [["/", "/x"], []], "/a**b*" => [["/ab", "/acbd"], ["/a"]],
      "/x*y*y$" => [["/xyy", "/xyzy"], ["/xy", "/xyyz"]] }.each do |pattern, (fitting, others)|
      rules = rules("User-agent: *\nDisallow: #{pattern}")
      assert_equal [false] * fitting.size, allowed(rules, *fitting), pattern
      assert_equal [true] * others.size, allowed(rules, *others), pattern
    end
  end

  # §2.2.2, its table
  def test_two_ways_to_write_a_path
    { "/foo/bar?baz=quz" => "/foo/bar?baz=quz", "/foo/bar?baz=https://foo.bar" => "/foo/bar?baz=https://foo.bar",
      "/foo/bar/\u30C4" => "/foo/bar/%E3%83%84", "/foo/bar/%E3%83%84" => "/foo/bar/%e3%83%84",
      "/foo/bar/%62%61%7A" => "/foo/bar/baz" }.each do |rule, path|
      refute rules("User-agent: *\nDisallow: #{rule}$").allow?(path), rule
    end
    assert rules("User-agent: *\nDisallow: /a%2Fb").allow?("/a/b")
  end

  def test_a_nasty_pattern_takes_no_time
    rules = rules("User-agent: *\nDisallow: /#{"*a" * 2000}$")
    assert rules.allow?("/#{"a" * 1500}b")
    refute rules.allow?("/#{"a" * 2500}")
  end

  def test_nor_does_a_line_of_blanks
    before = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
    rules = rules("User-agent: *\nDisallow: /x\nDisallow: /y#{" \t" * 200_000}z")
    assert_equal [false, true], allowed(rules, "/x", "/y")
    assert_operator Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) - before, :<, 5
  end

  def test_crawl_delay
    assert_equal 2.5, rules("User-agent: *\nCrawl-delay: 2.5").delay
    assert_equal [60.0, 0.0, 0.0], [rules("User-agent: *\nCrawl-delay: 86400"), rules("User-agent: *\nCrawl-delay: soon"),
                                    rules("User-agent: x\nCrawl-delay: 5")].map(&:delay)
  end

  def test_what_the_answer_means
    text = "User-agent: *\nDisallow: /x"
    assert_equal [false, true], allowed(answer(200, text), "/x", "/y")
    [301, 400, 401, 403, 404, 410].each { |status| assert answer(status, text).allow?("/x"), status }
    [429, 500, 503].each { |status| refute answer(status, "").allow?("/y"), status }
    refute Rules.from(Fetch::Result.failure("connect", "no"), "plait").allow?("/y")
    assert_predicate answer(500, ""), :unreachable?
  end

  def test_only_a_part_of_a_huge_file_is_read
    rules = rules("User-agent: *\nDisallow: /x\n#{"#" * Rules::LONGEST}\nDisallow: /y")
    assert_equal [false, true], allowed(rules, "/x", "/y")
  end

  # The gate: nothing passes before the file of its origin is known.
  def test_a_job_waits_for_the_file_of_its_origin
    source = [job(1, "http://a/x"), job(2, "http://a/y"), job(3, "http://b/x")]
    robots, refused = gate(source)
    files = [robots.take, robots.take]
    assert_equal ["http://a/robots.txt", "http://b/robots.txt"], files.map(&:url)
    assert files.all?(&:robots?)
    assert_nil robots.take
    robots.learn(files[0], page(200, "User-agent: *\nDisallow: /x"))
    assert_equal ["http://a/y", nil], [robots.take.url, robots.take]
    robots.learn(files[1], page(404, ""))
    assert_equal ["http://b/x", nil], [robots.take.url, robots.take]
    assert_equal [1], refused.map(&:line)
  end

  def test_not_too_many_wait_for_it
    source = Array.new(5000) { |n| job(n + 1, "http://a/#{n}") }
    robots, = gate(source)
    file = robots.take
    assert_equal :wait, robots.take
    assert_equal 5000 - Fetch::Robots::PARKED, source.size
    robots.learn(file, page(404, ""))
    found = []
    while (job = robots.take)
      found << job.line
    end
    assert_equal (1..5000).to_a, found
  end

  private

  def rules(text, agent: "plait") = Rules.new(text, agent)

  def allowed(rules, *targets) = targets.map { |target| rules.allow?(target) }

  def answer(status, text) = Rules.from(page(status, text), "plait")

  def page(status, text) = Fetch::Result.new(status: status, headers: [], body: text, bytes: text.bytesize)

  def job(line, url) = Fetch::Job.new(line: line, url: url, host: url[7], origin: url[0, 8], depth: 0, attempts: 0)

  def gate(source)
    refused = []
    source.define_singleton_method(:take) { shift }
    [Fetch::Robots.new(source, "plait") { |job, _| refused << job }, refused]
  end
end
