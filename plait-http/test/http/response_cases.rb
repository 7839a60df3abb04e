# frozen_string_literal: true

require "plait/http"
require_relative "response_cases/travel"

# What each class of responses must do, the native one and its twin. Included by a test class of its own, which says which:
# `def response_class`.
module ResponseCases
  include Travel

  HEADERS = [["Content-Type", "text/html; charset=UTF-8"], ["X", "1"], ["x", "2"]].freeze

  def test_what_it_tells
    response = build(status: 404, headers: HEADERS, body: "b", version: "1.0", reason: "Not there", url: "http://h/a")
    assert_equal([404, "Not there", "1.0", "b", "http://h/a"],
                 [response.status, response.reason, response.version, response.body, response.url])
    head = "HTTP/1.0 404 Not there\r\nContent-Type: text/html; charset=UTF-8\r\nX: 1\r\nx: 2\r\n\r\n"
    assert_equal(head.b, response.head_bytes)
    assert_equal([Encoding::BINARY, [], false], [response.head_bytes.encoding, response.trailers, response.encoded?])
    assert_equal([nil] * 2, [response.index, response.phases])
    assert_instance_of(response_class, response)
  end

  def test_charsets_as_servers_write_them
    { "utf8" => Encoding::UTF_8, "'utf-8'" => Encoding::UTF_8, "latin1" => Encoding::ISO_8859_1 }.each do |name, encoding|
      response = build(status: 200, headers: [["Content-Type", "text/html; charset=#{name}"]], body: "caf\xE9".b)
      assert_equal(encoding, response.text.encoding)
    end
    %w[utf-7 ascii].each do |name|
      response = build(status: 200, headers: [["Content-Type", "application/json; charset=#{name}"]], body: "[\"\xE9\"]".b)
      assert_raises(JSON::ParserError) { response.json }
    end
  end

  def test_whether_it_sets_cookies
    assert_equal([true, false], [[["set-cookie", "a=1"]], [["X-Set-Cookie", "a=1"]]].map do |headers|
      build(status: 200, headers: headers).sets_cookies?
    end)
  end

  def test_what_can_be_set
    response = build(status: 200)
    response.body = "new"
    response.url = "http://h/"
    response.index = 3
    response.request = request = Plait::HTTP::Request.new(:get, "http://h/")
    response.phases = phases = Plait.const_get(:Io)::Connector::Phases.new(0.1, 0.2, 0.3)
    response.redirects = earlier = [build(status: 302)]
    assert_equal(["new", "http://h/", 3], [response.body, response.url, response.index])
    assert_equal([request, phases, earlier], [response.request, response.phases, response.redirects])
  end

  def test_what_was_asked
    assert_nil(build(status: 200).request)
    plain = build(status: 200, url: "http://h/a?b")
    assert_equal(["GET", "http://h/a?b"], [plain.request.method, plain.request.url.to_s])
    assert_same(plain.request, plain.request)
  end

  def test_trailers_and_durations_can_be_set
    response = build(status: 200)
    response.trailers = trailers = [%w[Digest abc]]
    response.durations = [0.5, 0.25, 0.125]
    assert_equal([trailers, [0.5, 0.25, 0.125]], [response.trailers, response.durations])
    assert_equal([0.5, 0.25, 0.125, 0.875], response.timings.then { |t| [t.send, t.first_byte, t.read, t.total] })
  end

  def test_headers
    response = build(status: 200, headers: HEADERS)
    assert_equal(HEADERS, response.headers.to_a)
    assert_same(response.headers, response.headers)
    assert_predicate(response.headers, :frozen?)
    assert_equal(["1, 2", "1, 2", nil], [response["X"], response[:x], response["other"]])
    assert_predicate(build(status: 200).headers, :empty?)
  end

  def test_headers_with_bytes_of_any_kind
    response = build(status: 200, headers: [["A", "caf\u00e9"], ["B", "caf\xE9".b], ["C", "a:b: c"], ["D", ""]])
    assert_equal(["café", "caf\xE9".b, "a:b: c", ""], %w[a b c d].map { |name| response[name] })
    assert_equal([Encoding::UTF_8, Encoding::BINARY], [response["a"].encoding, response["b"].encoding])
  end

  def test_reasons
    { nil => "", "" => "", "Très bien" => "Très bien", "Tr\xE8s bien".b => "Tr\xE8s bien".b }.each do |given, reason|
      assert_equal(reason, build(status: 200, reason: given).reason)
    end
  end

  def test_kinds_of_status
    assert_equal([200, 204, 299], [199, 200, 204, 299, 300, 404].select { |status| build(status: status).ok? })
    located = { "Location" => "/b" }
    assert_equal([301, 302, 303, 307, 308], (300..308).select { |status| build(status: status, headers: located).redirect? })
    assert_equal([false, "/b"], [build(status: 301).redirect?, build(status: 301, headers: located).location])
  end

  def test_types
    {
      "text/html" => ["text/html", nil], "Text/HTML; Charset=\"utf-8\"" => ["text/html", "utf-8"],
      "text/html ;charset=a;x=y" => ["text/html", "a"], "text/html; x=charset" => ["text/html", nil]
    }.each do |field, told|
      response = build(status: 200, headers: { "Content-Type" => field })
      assert_equal(told, [response.content_type, response.charset])
    end
    assert_equal([nil, nil], [build(status: 200).content_type, build(status: 200).charset])
  end

  def test_text
    utf8, latin = "caf\u00e9".b, "caf\xE9".b
    [[utf8, "text/plain", "UTF-8"], [utf8, "text/plain; charset=utf-8", "UTF-8"], [latin, "text/plain", "BINARY"],
     [latin, "text/plain; charset=iso-8859-1", "ISO-8859-1"], [latin, "text/plain; charset=nobody-knows", "BINARY"],
     [latin, "text/plain; charset=internal", "BINARY"], ["a", "a; charset=locale", "BINARY"]].each do |body, type, encoding|
      text = build(status: 200, headers: { "Content-Type" => type }, body: body.dup).text
      assert_equal([body.b, Encoding.find(encoding)], [text.b, text.encoding], type)
    end
  end

  def test_text_leaves_the_body_as_it_is
    response = build(status: 200, body: "caf\u00e9".b)
    response.text << "x"
    assert_equal(["caf\u00e9".b, Encoding::BINARY], [response.body, response.body.encoding])
    assert_equal("caf\u00e9".b, response.to_s)
    assert_equal("", build(status: 200, body: nil).text)
  end

  def test_json
    response = build(status: 200, body: '{"a": "é"}'.b)
    assert_equal([{ "a" => "é" }, { a: "é" }], [response.json, response.json(symbolize_names: true)])
    assert_raises(JSON::ParserError) { build(status: 200, body: "<html>").json }
  end

  def test_encoded
    assert_predicate(build(status: 200, headers: { "content-ENCODING" => "gzip" }), :encoded?)
    refute_predicate(build(status: 200, headers: { "X-Content-Encoding" => "gzip" }), :encoded?)
  end

  def test_cookies
    response = build(status: 200, headers: [["Set-Cookie", "a=1; Expires=Mon, 01 Jan 2035"], ["set-cookie", "b=2"]])
    assert_equal(["a=1; Expires=Mon, 01 Jan 2035", "b=2"], response.cookies)
    assert_empty(build(status: 200).cookies)
  end

  def test_timings
    response = build(status: 200)
    assert_equal([nil, nil, nil, 0.0, 0.0, 0.0], response.timings.to_a)
    response.phases = Plait.const_get(:Io)::Connector::Phases.new(0.5, 0.25, nil)
    timings = response.timings
    assert_equal([0.5, 0.25, nil, 0.75], [timings.dns, timings.connect, timings.tls, timings.total])
  end

  def test_pieces
    assert_equal(["body"], build(status: 200, body: "body").each_piece.to_a)
    assert_equal([], build(status: 200, body: "").each_piece.to_a)
    assert_equal([], build(status: 200, body: nil).each_piece.to_a)
    streamed = build(status: 200, body: nil)
    streamed.source = %w[a b]
    assert_equal(%w[a b], streamed.each_piece.to_a)
  end

  def test_raising
    response = build(status: 204)
    assert_same(response, response.raise_for_status!)
    error = assert_raises(Plait::HTTPError) { build(status: 503, reason: "Busy", url: "http://h/a").raise_for_status! }
    assert_equal([503, true], [error.status, error.message.include?("http://h/a: the server answered 503 Busy")])
  end

  def test_inspect_is_short
    text = build(status: 200, reason: "OK", headers: HEADERS, body: "x" * 10_000, url: "http://h/a").inspect
    assert_equal("#<Plait::HTTP::Response 200 OK of http://h/a, 10000 bytes>", text)
    assert_match(/body not read/, build(status: 200, body: nil).inspect)
  end

  def test_what_no_response_can_have
    [99, 1000, "200", nil, 200.5].each { |status| assert_raises(Plait::UsageError, status.inspect) { build(status: status) } }
    assert_raises(Plait::UsageError) { build(status: 200, version: "1.2") }
    assert_raises(Plait::UsageError) { build(status: 200, reason: "a\r\nb") }
    assert_raises(Plait::UsageError) { build(status: 200, headers: { "a" => "b\r\nc: d" }) }
  end

  private

  def build(**about) = response_class.build(**about)
end
