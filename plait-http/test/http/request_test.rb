# frozen_string_literal: true

# bin/test: jruby

require "test_helper"
require "plait/http"
require "stringio"
require "uri"

class HTTPRequestTest < Minitest::Test
  Request = Plait::HTTP::Request

  def test_what_it_is_made_of
    request = Request.new(:post, "http://host/a", headers: { "X" => 1 }, body: "b", timeout: 5)
    assert_equal(["POST", "http://host/a", [%w[X 1]], "b", 5],
                 [request.method, request.url.to_s, request.headers.to_a, request.body, request.timeout])
    assert_equal("http://host", request.origin.to_s)
    assert_match(%r{POST http://host/a}, request.inspect)
  end

  def test_methods
    assert_equal(%w[GET DELETE PATCH GET PROPFIND Odd],
                 [:get, "delete", :Patch, "GET", "PROPFIND", "Odd"].map { |method| Request.new(method, "http://h").method })
    ["", "GET /", "G\r\nT", "GÄT", nil].each do |method|
      assert_match(/method/, assert_raises(Plait::UsageError) { Request.new(method, "http://h") }.message)
    end
  end

  def test_a_wrong_url_is_told_at_once
    assert_raises(Plait::UsageError) { Request.new(:get, "http://h/a b") }
    assert_raises(Plait::UsageError) { Request.new(:get, "/a") }
    assert_equal("http://h/a", Request.new(:get, "/a", base: Plait::HTTP::URL.parse("http://h/b")).url.to_s)
  end

  def test_queries
    assert_equal("/a?b=c&d=e+f%26", Request.new(:get, "http://h/a?b=c", query: { d: "e f&" }).url.target)
    assert_equal("/?x=1&x=2", Request.new(:get, "http://h", query: [["x", 1], ["x", 2]]).url.target)
    assert_equal("/?raw", Request.new(:get, "http://h", query: "raw").url.target)
    assert_equal("/", Request.new(:get, "http://h", query: {}).url.target)
  end

  def test_bodies
    {
      { json: { a: [1, nil] } } => ['{"a":[1,null]}', "application/json"], { json: [] } => ["[]", "application/json"],
      { form: { a: "b c", d: ["e", 1] } } => ["a=b+c&d%5B%5D=e&d%5B%5D=1", "application/x-www-form-urlencoded"],
      { body: "raw" } => ["raw", nil]
    }.each do |content, (body, type)|
      request = Request.new(:post, "http://h", **content)
      assert_equal([body, type].compact, [request.body, request.headers["content-type"]].compact)
    end
    type = Request.new(:post, "http://h", multipart: { a: "b" }).headers["content-type"]
    assert_match(%r{\Amultipart/form-data; boundary=}, type)
  end

  def test_a_content_type_of_ones_own
    request = Request.new(:post, "http://h", json: {}, headers: { content_type: "application/ld+json" })
    assert_equal(["application/ld+json"], request.headers.get_all("content-type"))
  end

  def test_bodies_that_can_not_be
    {
      { json: 1, form: {} } => /one body: json or form/, { bdy: 1 } => /doesn't know :bdy; it takes/,
      { body: 5 } => /body: takes/, { body: :symbol } => /body: takes/
    }.each do |content, message|
      assert_match(message, assert_raises(Plait::UsageError) { Request.new(:post, "http://h", **content) }.message)
    end
  end

  def test_a_body_where_none_is_expected
    %i[get head trace].each do |method|
      error = assert_raises(Plait::UsageError) { Request.new(method, "http://h", body: "b") }
      assert_match(/#{method.upcase} with a body.*allow_body/, error.message)
      assert_equal("b", Request.new(method, "http://h", body: "b", allow_body: true).body)
    end
    assert_equal("b", Request.new(:delete, "http://h", body: "b").body)
    assert_nil(Request.new(:get, "http://h", json: nil).body)
  end

  def test_what_can_be_repeated
    idempotent = %i[get head put delete options trace post patch].select { |method| Request.new(method, "http://h").idempotent? }
    assert_equal(%i[get head put delete options trace], idempotent)
    { nil => true, "s" => true, StringIO.new("s") => true, %w[a] => true, %w[a].each => false,
      Plait::HTTP::Multipart.new("a" => "b") => true }.each do |body, replayable|
      assert_equal(replayable, Request.new(:put, "http://h", body: body).replayable?, body.class.name)
    end
  end

  def test_who_asks
    assert_equal(%w[u p], Request.new(:get, "http://u:p@h").auth)
    assert_equal(%w[a b], Request.new(:get, "http://u:p@h", auth: %w[a b]).auth)
    refute_match(/secret/, Request.new(:get, "http://u:secret@h").inspect)
  end

  def test_what_has_no_json
    [Float::NAN, "\xff", { "a" => Float::INFINITY }].each do |value|
      assert_match(/\Ajson: /, assert_raises(Plait::UsageError) { Request.new(:post, "http://h", json: value) }.message)
    end
  end

  def test_from
    request = Request.new(:put, "http://h")
    assert_same(request, Request.from(request))
    ["http://h/", URI("http://h/"), Plait::HTTP::URL.parse("http://h"), { url: "http://h" }].each do |spec|
      assert_equal(["GET", "http://h/"], Request.from(spec).then { |made| [made.method, made.url.to_s] })
    end
    made = Request.from({ method: :post, url: "/a", json: 1, headers: { a: 1 } }, base: Plait::HTTP::URL.parse("http://h"))
    assert_equal(["POST", "http://h/a", "1"], [made.method, made.url.to_s, made.body])
    assert_match(/doesn't know :uri/, assert_raises(Plait::UsageError) { Request.from({ uri: "http://h" }) }.message)
    [nil, {}, 5].each { |spec| assert_raises(Plait::UsageError, spec.inspect) { Request.from(spec) } }
  end

  def test_headers_are_its_own
    given = Plait::HTTP::Headers.new("A" => 1)
    request = Request.new(:post, "http://h", headers: given, json: 1)
    assert_equal([1, 2], [given.size, request.headers.size])
    assert_raises(Plait::UsageError) { Request.new(:get, "http://h", headers: { "A" => "b\r\nC: d" }) }
  end
end
