# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "support/run_queue"
require "tmpdir"
require "plait/http"
require "plait/http/cookie_jar"

class HTTPCookieJarTest < Minitest::Test
  CookieJar = Plait::HTTP::CookieJar
  Clock = Struct.new(:now)
  NOW = Time.utc(2024, 5, 17, 12)

  # RFC 6265 §3.1
  def test_a_session_of_the_rfc
    set("http://example.com/", "SID=31d4d96e407aad42")
    assert_sent("SID=31d4d96e407aad42", "http://example.com/any")
    set("https://example.com/", "SID=31d4d96e407aad42; Path=/; Secure; HttpOnly", "lang=en-US; Path=/; Domain=example.com")
    assert_sent("SID=31d4d96e407aad42; lang=en-US", "https://example.com/")
    assert_sent("lang=en-US", "https://www.example.com/")
    set("https://example.com/", "lang=; Expires=Sun, 06 Nov 1994 08:49:37 GMT; Domain=example.com")
    assert_sent("SID=31d4d96e407aad42", "https://example.com/")
    assert_sent(nil, "https://www.example.com/")
  end

  # [the values of Set-Cookie] => what is sent back to the same URL (§5.2)
  {
    ["a=1"] => "a=1", [" a = 1 2 ; x"] => "a=1 2", ["a=b=c"] => "a=b=c", ["a=\"q\""] => 'a="q"', ["a="] => "a=",
    ["a=\t1\t"] => "a=1", ["a=1;;;"] => "a=1", ["a=1; unknown=2"] => "a=1", ["a=1", "a=2"] => "a=2", ["A=1", "a=2"] => "A=1; a=2",
    ["=1"] => nil, ["a"] => nil, [""] => nil, [";"] => nil, [" ; a=1"] => nil,
    ["a=1\r\nb=2"] => nil, ["a=\x01"] => nil, ["a\tb=1"] => nil, ["a=1; HttpOnly; SameSite=Strict"] => "a=1",
    ["a=\xc3\xb6"] => "a=\xc3\xb6".b,
    ["a=#{"x" * 4095}"] => "a=#{"x" * 4095}", ["ab=#{"x" * 4095}"] => nil
  }.each do |values, sent|
    define_method("test_reads_#{values.map { |value| value[0, 30] }.inspect}") do
      set("http://example.com/", *values)
      sent ? assert_equal(sent.b, jar.header_for("http://example.com/").b) : assert_sent(nil, "http://example.com/")
    end
  end

  # [who sets, the attribute Domain] => who gets it, who doesn't (§5.1.3, §5.3)
  {
    ["a.test", nil] => [%w[a.test], %w[w.a.test xa.test]],
    ["w.a.test", "a.test"] => [%w[a.test w.a.test x.a.test v.w.a.test], %w[xa.test b.test a.test.evil.test]],
    ["w.a.test", ".A.Test"] => [%w[a.test w.a.test], []],
    ["a.test", "a.test"] => [%w[a.test w.a.test], []],
    ["w.a.test", ""] => [%w[w.a.test], %w[a.test v.w.a.test]],
    ["a.test", "w.a.test"] => [[], %w[a.test w.a.test]],
    ["a.test", "b.test"] => [[], %w[a.test b.test]],
    ["xa.test", "a.test"] => [[], %w[a.test xa.test]],
    ["a.test", "test"] => [[], %w[a.test test]],
    ["a.test", "."] => [%w[a.test], []],
    ["a.test", "..test"] => [[], %w[a.test]],
    ["test", "test"] => [%w[test], %w[a.test]],
    ["localhost", nil] => [%w[localhost], %w[x.localhost]],
    ["127.0.0.1", nil] => [%w[127.0.0.1], %w[1.127.0.0.1]],
    ["127.0.0.1", "0.0.1"] => [[], %w[127.0.0.1 0.0.1]],
    ["127.0.0.1", "127.0.0.1"] => [%w[127.0.0.1], %w[1.127.0.0.1]],
    ["[::1]", nil] => [%w[[::1]], %w[[::2]]]
  }.each do |(host, domain), (getting, others)|
    define_method("test_the_domain_#{domain.inspect}_of_#{host}") do
      set("http://#{host}/", "a=1#{"; Domain=#{domain}" if domain}")
      getting.each { |other| assert_sent("a=1", "http://#{other}/") }
      others.each { |other| assert_sent(nil, "http://#{other}/") }
    end
  end

  # [the path asked for, the attribute Path] => who gets it, who doesn't (§5.1.4)
  {
    ["/", nil] => [%w[/ /x], []], ["/a/b", nil] => [%w[/a /a/ /a/b /a/c?q], %w[/ /ab]], ["/a", nil] => [%w[/ /x], []],
    ["/a/", nil] => [%w[/a /a/x], %w[/]], ["/x?/y/", nil] => [%w[/ /x], []],
    ["/", "/a"] => [%w[/a /a/ /a/b /a?q], %w[/ /ab /A]], ["/", "/a/"] => [%w[/a/ /a/b], %w[/a /ab]],
    ["/a/b", "/"] => [%w[/ /x], []], ["/a/b", "c"] => [%w[/a/c], %w[/]], ["/a/b", ""] => [%w[/a/c], %w[/]]
  }.each do |(path, attribute), (getting, others)|
    define_method("test_the_path_#{attribute.inspect}_of_#{path}") do
      set("http://a.test#{path}", "a=1#{"; Path=#{attribute}" if attribute}")
      getting.each { |other| assert_sent("a=1", "http://a.test#{other}") }
      others.each { |other| assert_sent(nil, "http://a.test#{other}") }
    end
  end

  # The values of Expires (§5.1.1) => seconds from NOW, nil: with the session.
  {
    "Fri, 17 May 2024 12:00:10 GMT" => 10, "Friday, 17-May-24 12:00:10 GMT" => 10, "Fri May 17 12:00:10 2024" => 10,
    "17 mAyor 2024 12:00:10" => 10, "12:00:10 2024 may 17" => 10, "17-May-2024 12:00:10 +0500" => 10,
    "17/May/24,12:00:10" => 10, "Fri, 17 May 2024 12:00:10.5 GMT" => 10, "17th May 2024ad 12:0:10" => 10,
    "Sun, 06 Nov 1994 08:49:37 GMT" => -1, "Thu, 01 Jan 1970 00:00:00 GMT" => -1, "1 Jan 1601 0:0:0" => -1,
    "31 Dec 9999 23:59:59" => 400 * 86_400, "17 May 2025 00:00:00" => (365 * 86_400) - 43_200,
    "31 Dec 1600 23:59:59" => nil, "30 Feb 2024 12:00:00" => nil, "17 May 2024 24:00:00" => nil, "17 May 2024 12:60:00" => nil,
    "17 May 2024 12:00:60" => nil, "32 May 2024 12:00:00" => nil, "0 May 2024 12:00:00" => nil, "17 May 2024" => nil, "" => nil,
    "May 2024 12:00:00" => nil, "17 Mai 2024 12:00:00" => nil, "tomorrow" => nil, "17 May 20245 12:00:00" => nil
  }.each do |text, seconds|
    define_method("test_expires_#{text.inspect}") do
      set("http://a.test/", "a=1; expires=#{text}")
      assert_expires(seconds)
    end
  end

  {
    "10" => 10, "0" => -1, "-5" => -1, "9" * 400 => 400 * 86_400, "1.5" => nil, "x" => nil, "" => nil, "+5" => nil
  }.each do |text, seconds|
    define_method("test_max_age_#{text[0, 9].inspect}") do
      set("http://a.test/", "a=1; max-age=#{text}")
      assert_expires(seconds)
    end
  end

  def test_max_age_wins_over_expires_and_the_last_attribute_over_others
    set("http://a.test/", "a=1; Max-Age=10; Expires=Sun, 06 Nov 1994 08:49:37 GMT", "b=1; Path=/x; path=/; Max-Age=5; max-age=7")
    assert_equal([NOW + 10, NOW + 7], jar.map(&:expires))
    assert_sent("a=1; b=1", "http://a.test/")
  end

  def test_an_attribute_that_is_too_long_is_passed_over
    set("http://a.test/", "a=1; Path=/#{"x" * 1024}; Secure=#{"y" * 2000}")
    assert_sent("a=1", "http://a.test/")
  end

  def test_white_space_takes_linear_time_whoever_sends_it
    space = " \t" * 30_000
    cookies = ["a=b#{space}c", "\t d#{space}=#{space}e ; Path=/ ", "f\t= g\t; Max-Age\t=9"]
    seconds = Support::RunQueue.seconds do
      assert_equal("d=e; f=g", CookieJar.new.add("http://example.org/", cookies).header_for("http://example.org/"))
    end
    assert_operator(seconds, :<, 3)
  end

  def test_what_has_expired_is_gone
    set("http://a.test/", "a=1; Max-Age=10", "b=2")
    clock.now += 9
    assert_sent("a=1; b=2", "http://a.test/")
    clock.now += 1
    assert_sent("b=2", "http://a.test/")
    assert_equal(1, jar.size)
  end

  def test_longer_paths_come_first_then_older_cookies
    set("http://a.test/", "old=1", "new=1", "deep=1; Path=/a/b", "middle=1; Path=/a")
    assert_sent("deep=1; middle=1; old=1; new=1", "http://a.test/a/b/c")
    set("http://a.test/", "old=2") # keeps its place (§5.3, step 11.3)
    assert_sent("old=2; new=1", "http://a.test/")
  end

  def test_one_name_with_several_paths_and_domains
    set("http://w.a.test/", "a=1", "a=2; Domain=a.test", "a=3; Path=/p")
    assert_sent("a=3; a=1; a=2", "http://w.a.test/p")
  end

  def test_secure_cookies_go_by_tls_and_come_by_tls
    set("https://a.test/", "a=1; Secure")
    assert_sent("a=1", "https://a.test/")
    assert_sent(nil, "http://a.test/")
    set("http://a.test/", "b=1; Secure")
    assert_sent("a=1", "https://a.test/")
  end

  def test_an_answer_without_tls_does_not_replace_a_secure_cookie
    set("https://w.a.test/", "a=1; Secure; Domain=a.test; Path=/x")
    set("http://w.a.test/x/", "a=evil")
    set("http://a.test/x/", "a=evil; Max-Age=0; Domain=a.test; Path=/x")
    assert_sent("a=1", "https://w.a.test/x/")
    set("http://w.a.test/", "a=other; Path=/y", "b=2; Path=/x")
    assert_sent("a=other", "http://w.a.test/y")
    assert_sent("b=2", "http://w.a.test/x")
  end

  def test_names_that_promise_something_keep_it
    set("https://a.test/", "__Secure-a=1", "__Host-b=1; Secure; Domain=a.test; Path=/", "__Host-c=1; Secure; Path=/x",
        "__Host-d=1; Secure", "__host-e=1; Path=/")
    assert_empty(jar)
    set("https://a.test/", "__Secure-a=1; Secure; Domain=a.test", "__Host-b=1; Secure; Path=/")
    assert_sent("__Secure-a=1; __Host-b=1", "https://a.test/")
  end

  def test_a_list_of_public_suffixes_is_asked
    jar = CookieJar.new(public_suffix: ->(domain) { %w[co.test github.test].include?(domain) })
    jar.add("http://w.co.test/", ["a=1; Domain=co.test", "b=1; Domain=w.co.test"])
    assert_equal("b=1", jar.header_for("http://w.co.test/"))
    jar.add("http://github.test/", "own=1; Domain=github.test") # for itself (§5.3, step 5)
    assert_equal("own=1", jar.header_for("http://github.test/"))
    assert_nil(jar.header_for("http://evil.github.test/"))
  end

  def test_a_domain_that_sets_many_loses_those_it_used_least_recently
    (CookieJar::PER_DOMAIN + 5).times do |i|
      set("http://a.test/", "c#{i}=#{i}; Path=/#{i}")
      jar.header_for("http://a.test/0")
    end
    assert_equal(CookieJar::PER_DOMAIN, jar.size)
    assert_sent("c0=0", "http://a.test/0")
    assert_sent(nil, "http://a.test/1")
    assert_sent("c184=184", "http://a.test/184")
  end

  def test_there_is_an_end_to_all
    (CookieJar::TOTAL + 10).times { |i| set("http://h#{i}.test/", "a=1") }
    assert_equal(CookieJar::TOTAL, jar.size)
    assert_sent(nil, "http://h9.test/")
    assert_sent("a=1", "http://h10.test/")
  end

  # Those of other domains are not looked at, and nothing else is different.
  def test_a_request_has_all_that_fit_it_and_no_others
    random = Random.new(7)
    hosts = %w[a.test b.a.test c.b.a.test b.test xa.test 127.0.0.1 localhost x.localhost]
    1_000.times do |number|
      host = hosts.sample(random: random)
      domain = host.split(".").last(1 + random.rand(3)).join(".")
      limits = [("Domain=#{domain}" if random.rand < 0.5), ("Max-Age=#{random.rand(9) - 1}" if random.rand < 0.3)]
      set("http://#{host}/p/p/", ["c#{random.rand(5)}=#{number}", "Path=/#{"p/" * random.rand(3)}", *limits.compact].join("; "))
      clock.now += 1 if (number % 20).zero?
      url = Plait::HTTP::URL.parse("http://#{hosts.sample(random: random)}/#{"p/" * random.rand(3)}")
      fit = jar.select { |cookie| cookie.for?(url) }.sort_by { |cookie| [-cookie.path.size, cookie.created] }
      assert_equal(fit.map(&:pair), jar.header_for(url).to_s.split("; "), url.to_s)
    end
  end

  def test_more_cookies_than_there_may_be
    4_000.times do |number|
      host = "h#{number % 2_000}.test"
      set("http://#{host}/", "c#{number}=1")
      assert_includes(jar.header_for("http://#{host}/"), "c#{number}=1")
    end
    assert_equal(CookieJar::TOTAL, jar.size)
    assert_equal(CookieJar::TOTAL, jar.each.to_a.uniq.size)
  end

  def test_threads_share_one
    jar # made before them, or two of them make one each
    threads = Array.new(8) do |number|
      Thread.new { 200.times { |i| jar.add("http://h#{number}.test/", "a=#{i}") && jar.header_for("http://h#{number}.test/") } }
    end
    threads.each(&:join)
    8.times { |number| assert_sent("a=199", "http://h#{number}.test/") }
  end

  def test_saves_and_loads
    set("https://w.a.test/", "a=1=\"x\"; Domain=a.test; Secure; HttpOnly; Max-Age=100", "b=\xc3\xb6; Max-Age=100; Path=/p", "s=1",
        "e=; Max-Age=5")
    in_folder do |path|
      assert_equal(4, reloaded(path, session: true).size)
      copy = reloaded(path)
      assert_equal(%w[a b e], copy.map(&:name))
      assert_equal("a=1=\"x\"; e=", copy.header_for("https://w.a.test/"))
      assert_equal("a=1=\"x\"", copy.header_for("https://x.a.test/"))
      fields = copy.first.to_h.values_at(:secure, :http_only, :host_only, :domain, :expires)
      assert_equal([true, true, false, "a.test", NOW + 100], fields)
      assert_equal(0o600, File.stat(path).mode & 0o777)
      assert_equal([File.basename(path)], Dir.children(File.dirname(path)))
    end
  end

  # As curl writes it.
  def test_reads_a_file_of_curls
    in_folder do |path|
      File.write(path, "# Netscape HTTP Cookie File\r\n# a comment\n\n" \
                       "#HttpOnly_.a.test\tTRUE\t/\tTRUE\t#{NOW.to_i + 9}\tid\tx\ty\r\nB.test\tFALSE\t/p\tFALSE\t0\tn\t\n")
      jar.load(path)
      assert_sent("id=x\ty", "https://w.a.test/")
      assert_sent("n=", "http://b.test/p")
    end
  end

  def test_a_broken_file_is_an_error_that_names_the_line
    ["nonsense", "a.test TRUE / FALSE soon a 1", "a.test YES / FALSE 0 a 1", "a.test TRUE p FALSE 0 a 1"].each do |line|
      in_folder do |path|
        File.write(path, "# Netscape\n#{line.tr(" ", "\t")}\n")
        error = assert_raises(Plait::UsageError) { jar.load(path) }
        assert_match(/cookies\.txt:2 is no cookie: its fields are domain/, error.message)
      end
    end
    assert_raises(Errno::ENOENT) { jar.load("/nowhere/cookies.txt") }
  end

  def test_each_clear_and_inspect
    set("http://a.test/", "secret=value")
    assert_equal(%w[secret], jar.each.map(&:name))
    refute_includes(jar.first.inspect + jar.inspect, "value")
    assert_empty(jar.clear)
  end

  private

  def clock = @clock ||= Clock.new(NOW)

  def jar = @jar ||= CookieJar.new(clock: clock)

  def set(url, *values) = assert_same(jar, jar.add(url, values))

  def assert_sent(expected, url)
    header = jar.header_for(url)
    expected ? assert_equal(expected, header, url) : assert_nil(header, url)
  end

  # @param seconds [Integer, nil] from NOW; nil: with the session, below zero: gone
  def assert_expires(seconds)
    return assert_empty(jar) if seconds&.negative?

    seconds ? assert_equal(NOW + seconds, jar.first.expires) : assert_nil(jar.first.expires)
  end

  def reloaded(path, **options)
    jar.save(path, **options)
    CookieJar.new(clock: clock).load(path)
  end

  def in_folder = Dir.mktmpdir("plait-test-") { |folder| yield File.join(folder, "cookies.txt") }
end
