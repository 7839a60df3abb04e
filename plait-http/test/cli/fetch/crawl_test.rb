# frozen_string_literal: true

require "test_helper"
require "support/nginx_server"
require_relative "support/fetching"
require "plait/cli/fetch/frontier"

class FetchCrawlTest < Minitest::Test
  include Support::Fetching

  def test_the_links_of_a_host_and_no_others
    other = origin
    site = site({ "/" => ["/a", "b#top", other.url("/x", host: "localhost"), "/a"], "/a" => ["/", "/deep/c?x=1&amp;y=2"],
                  "/b" => [], "/deep/c?x=1&y=2" => ["../b", "d"], "/deep/d" => [] })
    result = fetch(site.url, "--crawl", "--out", "out.jsonl")
    assert_equal 0, result.code, result.err
    assert_equal ["/", "/a", "/b", "/deep/c?x=1&y=2", "/deep/d"], paths
    assert_equal 6, site.requests.size
    assert_equal "/robots.txt", site.paths.first
    assert_empty other.requests
  end

  def test_robots_txt
    site = site({ "/" => %w[/open /secret/a /secret/ok], "/open" => [], "/secret/a" => [], "/secret/ok" => [] },
                robots: [200, {}, "User-agent: plait\nDisallow: /secret\nAllow: /secret/ok\n"])
    result = fetch(site.url, "--crawl", "--out", "out.jsonl", "--json", "sum.json")
    assert_equal 0, result.code, result.err
    assert_equal %w[/ /open /secret/ok], paths
    refute_includes site.paths, "/secret/a"
    assert_equal 1, JSON.parse(File.read(path("sum.json")))["disallowed"]
    assert_match(/^1 link left alone, as robots\.txt asks$/, result.out)
  end

  def test_a_url_that_was_asked_for_and_is_not_allowed
    site = site({ "/" => [] }, robots: [200, {}, "User-agent: *\nDisallow: /"])
    result = fetch(site.url("/x"), "--crawl")
    assert_equal [1, "robots"], [result.code, records(result.out)[0]["error"]["kind"]]
    assert_equal ["/robots.txt"], site.paths
  end

  def test_a_user_and_a_password_are_used_and_never_written_down
    site = site({ "/a" => %w[/b], "/b" => [] }, robots: [200, {}, "User-agent: *\nDisallow: /no"])
    urls = %w[/a /no].map { |path| site.url(path).sub("http://", "HTTP://me:sec%72et@") }
    2.times do
      result = fetch(*urls, "--crawl", "--out", "out.jsonl")
      assert_equal 1, result.code, result.err
      assert_equal %w[/a /b /no], paths
      refute_match(/sec/, Dir.children(path("")).map { |name| File.read(path(name)) }.join + result.out + result.err)
    end
    assert_equal %w[/a /b /robots.txt], site.paths.sort.uniq
    authorized = site.requests.select { |request| request.headers.key?("authorization") }
    assert_equal ["/a"], authorized.map(&:path)
  end

  def test_a_user_and_a_password_come_again_with_the_input
    url = "http://me:secret@h/a"
    2.times do |time|
      frontier = Plait::CLI::Fetch::Frontier.new(path("out"), fresh: time.zero?, most: 9)
      assert_equal time.zero?, frontier.add(url, 0)
      line = frontier.take
      assert_equal [url, 0], [line.text, line.depth]
      frontier.close
    end
  end

  def test_a_robots_txt_that_can_not_be_had
    site = site({ "/" => [] }, robots: [500, {}, ""])
    result = fetch(site.url, "--crawl", "--retries", "1")
    assert_equal [1, "robots"], [result.code, records(result.out)[0]["error"]["kind"]]
    site = origin { |path, nth| path == "/robots.txt" ? [{ 1 => 503 }.fetch(nth, 404), {}, ""] : page([]) }
    assert_equal 0, fetch(site.url, "--crawl").code
  end

  def test_a_robots_txt_behind_a_redirect
    site = site({ "/" => %w[/a /b], "/b" => [] },
                robots: [301, { "Location" => "/rules.txt" }, ""],
                others: { "/rules.txt" => [200, {}, "User-agent: *\nDisallow: /a"] })
    assert_equal 0, fetch(site.url, "--crawl", "--out", "out.jsonl").code
    assert_equal %w[/ /b], paths
  end

  def test_crawl_delay
    site = site({ "/" => %w[/a /b], "/a" => [], "/b" => [] }, robots: [200, {}, "User-agent: *\nCrawl-delay: 0.6"])
    assert_equal 0, fetch(site.url, "--crawl", "--out", "out.jsonl").code
    moments = site.requests.reject { |request| request.path == "/robots.txt" }.map(&:at)
    moments.each_cons(2) { |one, next_one| assert_operator next_one - one, :>=, 0.3 }
  end

  def test_redirects
    www = site({ "/" => ["/in"], "/in" => [] })
    elsewhere = ->(path) { { "Location" => www.url(path, host: "localhost") } }
    site = site({ "/start" => %w[/moved /away], "/new" => [] },
                others: { "/" => [301, elsewhere["/"], ""], "/away" => [302, elsewhere["/never"], ""],
                          "/moved" => [302, { "Location" => "/new" }, ""] })
    assert_equal 0, fetch(site.url, site.url("/start"), "--crawl", "--out", "out.jsonl").code
    assert_equal %w[/ /in /robots.txt], www.paths.sort
    assert_equal %w[/ /away /moved /new /robots.txt /start], site.paths.sort
    assert_equal({ 301 => 1, 302 => 2, 200 => 4 }, saved.map { |record| record["status"] }.tally)
  end

  def test_how_deep_and_how_many
    site = origin { |path, _| path == "/robots.txt" ? [404, {}, ""] : page(["#{path}x", "#{path}y"]) }
    assert_equal 0, fetch(site.url, "--crawl", "--depth", "2", "--out", "deep.jsonl").code
    assert_equal 1 + 2 + 4, saved("deep.jsonl").size
    assert_equal 0, fetch(site.url, "--crawl", "--pages", "20", "--out", "many.jsonl").code
    assert_equal 20, saved("many.jsonl").size
  end

  def test_a_bad_line
    site = site({ "/" => [] })
    result = fetch(site.url, "nonsense", "--crawl")
    assert_equal 1, result.code
    assert_equal 1, result.out.lines.size
    assert_match(/^plait: line 2: "nonsense" has no scheme/, result.err)
    assert_match(/^errors: bad_line 1$/, result.err)
  end

  def test_a_folder_of_nginx_pages
    nginx = Support::NginxServer.start
    { "index.html" => "<a href=a.html>", "a.html" => "<a href=/><a href=img.png>", "img.png" => "\x89PNG\n", "lost.html" => "" }
      .each { |name, text| File.binwrite(File.join(nginx.root, name), text) }
    result = fetch("#{nginx.url}/", "--crawl", "--out", "site")
    assert_equal 0, result.code, result.err
    found = saved("site/index.jsonl")
    files = found.to_h { |record| [record["url"].delete_prefix(nginx.url), File.binread(path("site/#{record["file"]}"))] }
    assert_equal({ "/" => "<a href=a.html>", "/a.html" => "<a href=/><a href=img.png>", "/img.png" => "\x89PNG\n".b }, files)
  ensure
    nginx&.stop
  end

  def test_killed_and_gone_on_with
    site = origin do |path, _|
      sleep(0.005)
      number = path[/\d+/].to_i
      links = [(number * 2) + 1, (number * 2) + 2].select { |n| n < 150 }.map { |n| "/#{n}" }
      path == "/robots.txt" ? [404, {}, ""] : page(links)
    end
    [3, 30, 31, 90].each do |count|
      plait_running("fetch", site.url("/0"), "--crawl", "--depth", "20", "--out", "out.jsonl") do |pid, _, _|
        wait_until(timeout: 30) { site.requests.size >= count }
        Process.kill(:KILL, pid)
      end
    end
    assert_equal 0, fetch(site.url("/0"), "--crawl", "--depth", "20", "--out", "out.jsonl").code
    assert_equal (0...150).map { |n| "/#{n}" }.sort, paths
  end

  private

  def paths = saved.map { |record| record["url"].sub(%r{\Ahttp://[^/]+}, "") }.sort

  def site(pages, robots: [404, {}, ""], others: {})
    answers = { "/robots.txt" => robots, **pages.transform_values { |links| page(links) }, **others }
    origin { |path, _| answers.fetch(path, [404, {}, ""]) }
  end

  def page(links) = [200, { "Content-Type" => "text/html" }, links.map { |link| "<a href=\"#{link}\">x</a>" }.join]
end
