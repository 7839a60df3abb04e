# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "plait/http"
require "uri"

class HTTPURLTest < Minitest::Test
  URL = Plait::HTTP::URL

  WHOLE = {
    "http://host" => %w[http host 80 / http://host/],
    "http://host?" => %w[http host 80 /? http://host/?],
    "http://host?a=b" => %w[http host 80 /?a=b http://host/?a=b],
    "http://host#f" => %w[http host 80 / http://host/],
    "HTTP://HOST:80/A?B#C" => %w[http host 80 /A?B http://host/A?B],
    "https://host:443/" => %w[https host 443 / https://host/],
    "https://host:80/" => %w[https host 80 / https://host:80/],
    "http://host:/a" => %w[http host 80 /a http://host/a],
    "http://host:0081/a" => %w[http host 81 /a http://host:81/a],
    "http://[::1]:81/a" => %w[http ::1 81 /a http://[::1]:81/a],
    "http://[2001:DB8::1]" => %w[http 2001:db8::1 80 / http://[2001:db8::1]/],
    "http://[FE80::1%251]:81/a" => %w[http fe80::1%1 81 /a http://[fe80::1%251]:81/a],
    "http://[fe80::1%1]/" => %w[http fe80::1%1 80 / http://[fe80::1%251]/],
    "http://127.0.0.1/" => %w[http 127.0.0.1 80 / http://127.0.0.1/],
    "http://a_b.example.:8080" => %w[http a_b.example. 8080 / http://a_b.example.:8080/],
    "http://xn--bcher-kva.example/" => %w[http xn--bcher-kva.example 80 / http://xn--bcher-kva.example/],
    "http://host/%20%zz?%" => %w[http host 80 /%20%zz?% http://host/%20%zz?%],
    "http://host/|^{}\"<>`\\" => ["http", "host", "80", "/|^{}\"<>`\\", "http://host/|^{}\"<>`\\"],
    "http://host//a//b" => %w[http host 80 //a//b http://host//a//b],
    "http://host/a?b?c/d#e?f#g" => %w[http host 80 /a?b?c/d http://host/a?b?c/d]
  }.freeze

  WRONG = {
    "" => /a URL is missing/,
    "host/path" => /no scheme/,
    "/path" => /no scheme/,
    "//host/path" => /no scheme/,
    "localhost:3000/" => /:localhost is no scheme of HTTP/,
    "ftp://host/" => /:ftp is no scheme of HTTP/,
    "javascript:alert(1)" => /:javascript is no scheme/,
    "http:" => /has no host/,
    "http:///path" => /has no host/,
    "http://:80/" => /has no host/,
    "http://user@/" => /has no host/,
    "http:host" => /has no host/,
    "http://host:port/" => /malformed/,
    "http://host:80:90/" => /malformed/,
    "http://host:-1/" => /malformed/,
    "http://host:0/" => /names port 0/,
    "http://host:65536/" => /names port 65536/,
    "http://host:#{"9" * 50}/" => /names port 9{50}/,
    "http://::1/" => /malformed/,
    "http://[fe80::1%25e%2fth]/" => /can't be a host/,
    "http://[fe80::1%25nowhere]/" => /nowhere\S* this machine has no such network interface/,
    "http://[fe80::1%]/" => /can't be a host/,
    "http://[::1/" => /malformed/,
    "http://[::1]x/" => /malformed/,
    "http://[1.2.3.4]/" => /can't be a host/,
    "http://[:::::]/" => /\[:::::\]|:::::/,
    "http://[]/" => /has no host/,
    "http://-host/" => /can't be a host/,
    "http://ho%st/" => /can't be a host/,
    "http://a@b@c/" => /write %40/,
    "http://ho<st/" => /can't be a host/,
    "http://host\\@other/" => /write %5C/,
    "http://#{"a." * 128}/" => /a host of 256 bytes/,
    "http://host/a b" => /has a space at character 14.*write %20/,
    " http://host/" => /has a space at character 1,/,
    "http://host/\n" => /a line feed at character 13/,
    "http://host/\r\nHost: other" => /a carriage return at character 13/,
    "http://host/\t" => /a tab/,
    "http://host/\0" => /"\\(0|u0000|x00)" at character 13/,
    "http://host/\x7f" => /at character 13/,
    "http://b\u00fccher.example/" => /"ü" at character 9.*Punycode/,
    "http://host/\u00e4" => /"ä" at character 13.*write %C3%A4/,
    "http://host/\xff" => /not valid UTF-8/
  }.freeze

  # RFC 3986 §5.4, against "http://a/b/c/d;p?q"
  RELATIVE = {
    "g" => "/b/c/g", "./g" => "/b/c/g", "g/" => "/b/c/g/", "/g" => "/g", "?y" => "/b/c/d;p?y", "g?y" => "/b/c/g?y",
    "#s" => "/b/c/d;p?q", "g#s" => "/b/c/g", "g?y#s" => "/b/c/g?y", ";x" => "/b/c/;x", "g;x" => "/b/c/g;x",
    "g;x?y#s" => "/b/c/g;x?y", "." => "/b/c/", "./" => "/b/c/", ".." => "/b/", "../" => "/b/", "../g" => "/b/g",
    "../.." => "/", "../../" => "/", "../../g" => "/g", "../../../g" => "/g", "../../../../g" => "/g", "/./g" => "/g",
    "/../g" => "/g", "g." => "/b/c/g.", ".g" => "/b/c/.g", "g.." => "/b/c/g..", "..g" => "/b/c/..g", "./../g" => "/b/g",
    "./g/." => "/b/c/g/", "g/./h" => "/b/c/g/h", "g/../h" => "/b/c/h", "g;x=1/./y" => "/b/c/g;x=1/y",
    "g;x=1/../y" => "/b/c/y", "" => "/b/c/d;p?q", "g?y/./x" => "/b/c/g?y/./x", "g?y/../x" => "/b/c/g?y/../x", "g#s/../x" => "/b/c/g" # rubocop:disable Layout/LineLength
  }.freeze

  def test_its_class_has_a_name
    assert_equal("Plait::HTTP::URL", Plait::HTTP::URL.name)
  end

  def test_parts
    WHOLE.each do |text, parts|
      url = URL.parse(text)
      assert_equal(parts, [url.scheme, url.host, url.port, url.target, url].map(&:to_s), text)
      assert_predicate(url, :frozen?)
    end
  end

  def test_what_is_none_is_told_with_the_place
    WRONG.each do |text, message|
      error = assert_raises(Plait::UsageError, text.inspect) { URL.parse(text) }
      assert_match(message, error.message)
      assert_predicate(error.message, :valid_encoding?)
    end
    assert_raises(Plait::UsageError) { URL.parse(nil) }
    assert_raises(Plait::UsageError) { URL.parse(42) }
  end

  def test_other_things_that_are_urls
    url = URL.parse("http://host/a")
    assert_same(url, URL.parse(url))
    assert_equal(url, URL.parse(URI("http://host/a")))
    assert_equal(url, URL.parse("http://host/a".encode(Encoding::UTF_16LE)))
    assert_equal(url, URL.parse("http://host/a".b))
  end

  def test_who_asks
    {
      "http://user:secret@host/" => %w[user secret], "http://user@host/" => ["user", ""], "http://:p@host/" => ["", "p"],
      "http://u%40x:p%3a%20%C3%A9@host/" => ["u@x", "p: é"], "http://u:p:q@host/" => ["u", "p:q"], "http://host/" => nil,
      "http://@host/" => ["", ""]
    }.each do |text, userinfo|
      userinfo ? assert_equal(userinfo, URL.parse(text).userinfo) : assert_nil(URL.parse(text).userinfo)
    end
  end

  def test_passwords_are_not_shown
    url = URL.parse("http://user:secret@host/a#f")
    refute_match(/secret|user/, "#{url} #{url.inspect}")
    ["http://user:secret@host/a b", "ftp://user:secret@host/", "http://user:secret@host:0/", "http://user:a/secret@host/",
     "http://user:secret?@host/", "http://user:p@secret@host/", "http://p\\secret@host/", "http://a:b\\secret@c@host/",
     "user:secret@host/", "http://a/?token=secret b", "http://user:secret#x@host/", "http://user:secret@host/\xff"].each do |text|
      error = assert_raises(Plait::UsageError) { URL.parse(text) }
      refute_match(/secret/, error.message)
    end
    assert_match(%r{"http://h:80/a b@c"}, assert_raises(Plait::UsageError) { URL.parse("http://h:80/a b@c") }.message)
  end

  def test_relative_ones
    base = URL.parse("http://a/b/c/d;p?q")
    RELATIVE.each { |text, target| assert_equal("http://a#{target}", URL.parse(text, base: base).to_s, text) }
    assert_equal("http://g/", URL.parse("//g", base: base).to_s)
    assert_equal("https://g:8/x?y", URL.parse("//g:8/x?y", base: URL.parse("https://a/")).to_s)
    assert_equal("http://other/", URL.parse("http://other", base: base).to_s)
    assert_equal("http://a/x", URL.parse("x", base: URL.parse("http://a")).to_s)
    assert_nil(URL.parse("", base: URL.parse("http://a/#f")).fragment)
    assert_match(/a URL is missing/, assert_raises(Plait::UsageError) { URL.parse(nil, base: base) }.message)
    assert_raises(Plait::UsageError) { URL.parse("//", base: base) }
    assert_raises(Plait::UsageError) { URL.parse("ftp://x/", base: base) }
  end

  def test_relative_ones_keep_who_asks_within_the_origin
    base = URL.parse("http://user:secret@a/b")
    assert_equal(%w[user secret], URL.parse("/c", base: base).userinfo)
    assert_nil(URL.parse("//b/c", base: base).userinfo)
  end

  def test_fragments
    assert_equal("f?g", URL.parse("http://host/a?b#f?g").fragment)
    assert_nil(URL.parse("http://host/a").fragment)
  end

  def test_more_of_a_query
    { "http://h/a" => "/a?x=1", "http://h/a?" => "/a?x=1", "http://h/a?b#f" => "/a?b&x=1" }.each do |text, target|
      assert_equal(target, URL.parse(text).with_query("x=1").target)
    end
    assert_equal("/a", URL.parse("http://h/a").with_query("").target)
    assert_equal("f", URL.parse("http://h/a#f").with_query("x").fragment)
    ["a b", "a\r\nb", "\u00e9", "a#b", "\xff"].each do |text|
      assert_match(/can't be a query/, assert_raises(Plait::UsageError) { URL.parse("http://h/a").with_query(text) }.message)
    end
  end

  def test_what_can_be_no_query
    ["a b", "a\n", "\u00fc", "a#b", "\xff"].each do |text|
      error = assert_raises(Plait::UsageError) { URL.parse("http://h/").with_query(text) }
      assert_match(/can't be a query/, error.message)
    end
  end

  def test_equality
    same = %w[http://h/a HTTP://H:80/a http://h/a#f].map { |text| URL.parse(text) }
    assert_equal(1, same.uniq.size)
    refute_equal(URL.parse("http://h/a"), URL.parse("https://h/a"))
    refute_equal(URL.parse("http://h/a"), URL.parse("http://u@h/a"))
    refute_equal(URL.parse("http://h/a"), "http://h/a")
  end

  # What comes out can be parsed again, and can be sent.
  def test_any_text_is_either_refused_or_can_be_sent
    random = Random.new(Minitest.seed)
    letters = "htp:/s.[]@#?%&=a1-_~\\ \n\u00e9|^".chars
    3000.times do
      beginning = ["http://", "https://h", "", "http://h/"].sample(random: random)
      text = beginning + Array.new(random.rand(12)) { letters.sample(random: random) }.join
      url = begin
        URL.parse(text)
      rescue Plait::UsageError
        next
      end
      assert_equal(url.to_s, URL.parse(url.to_s).to_s, text)
      Plait.const_get(:Protocols)::HTTP1::Serializer.request("GET", url.target, [["Host", url.origin.host_header]])
    end
  end
end
