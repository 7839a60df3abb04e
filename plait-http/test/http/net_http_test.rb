# frozen_string_literal: true

# bin/test: jruby

require_relative "net_http_origin"
require "support/nginx_server"
require "open-uri"

# Net::HTTP does with the pool what it does without, on fewer connections.
class NetHTTPTest < Minitest::Test
  include NetHTTPCases

  # Each is run without and with the pool, and must have the same result.
  USES = {
    "Net::HTTP.get" => ->(o) { Net::HTTP.get(o.url("/a")) },
    "get_response" => ->(o) { o.sum(Net::HTTP.get_response(o.url("/a?b=c"))) },
    "get_response by host" => ->(o) { o.sum(Net::HTTP.get_response("127.0.0.1", "/a", o.port)) },
    "post" => ->(o) { o.sum(Net::HTTP.post(o.url("/p"), "data", "Content-Type" => "text/plain")) },
    "post_form" => ->(o) { o.sum(Net::HTTP.post_form(o.url("/p"), "a" => "1", "b" => "2 3")) },
    "a session" => ->(o) { o.session { |h| [h.get("/1").body, h.head("/2").body, h.delete("/3").body, h.get("/4").body] } },
    "not started" => ->(o) { [o.http.get("/1").body, o.http.post("/2", "x").body] },
    "one object twice, not started" => ->(o) { o.http.then { |h| [h.get("/1").body, h.get("/2").body, h.started?] } },
    "start and finish" => ->(o) { o.http.start.then { |h| [h.get("/1").body, h.started?, h.finish, h.started?] } },
    "started again" => ->(o) { o.http.then { |h| Array.new(2) { |n| h.start { h.get("/#{n}").body } } } },
    "start twice" => ->(o) { o.session(&:start) },
    "finish twice" => ->(o) { o.http.start.then { |h| [h.finish, h.finish] } },
    "request" => ->(o) { o.session { |h| o.sum(h.request(Net::HTTP::Put.new("/x"), "body")) } },
    "request with a URI" => ->(o) { o.session { |h| h.request(Net::HTTP::Get.new(o.url("/u"))).uri.to_s } },
    "send_request" => ->(o) { o.session { |h| o.sum(h.send_request("PATCH", "/x", "body", "content-type" => "a/b")) } },
    "a String of a body" => ->(o) { o.session { |h| h.get("/a").read_body } },
    "in pieces" => ->(o) { o.session { |h| [].tap { |all| h.get("/big") { |piece| all << piece } }.join.sum } },
    "read_body with a block" => ->(o) { o.session { |h| o.pieces(h, "/big").join } },
    "read_body with a block, gzip" => ->(o) { o.session { |h| o.pieces(h, "/gzip").join + h.get("/2").body } },
    "read_body with a block, chunked" => ->(o) { o.session { |h| o.pieces(h, "/chunked").join + h.get("/2").body } },
    "read_body into something" => ->(o) { o.session { |h| o.into(h, StringIO.new).string } },
    "a request in the block of another" => ->(o) { o.session { |h| h.get2("/1") { |r| r.body << h.get("/2").body }.body } },
    "left by return" => ->(o) { o.session { |h| o.left(h) + h.get("/2").body } },
    "chunked" => ->(o) { o.sum(Net::HTTP.get_response(o.url("/chunked"))) },
    "gzip" => ->(o) { o.sum(Net::HTTP.get_response(o.url("/gzip"))) },
    "gzip, chunked" => ->(o) { o.sum(Net::HTTP.get_response(o.url("/gzip-chunked"))) },
    "gzip as it is" => ->(o) { Net::HTTP.get(o.url("/gzip"), "Accept-Encoding" => "gzip").bytesize },
    "until the end" => ->(o) { Array.new(2) { o.sum(Net::HTTP.get_response(o.url("/until-the-end"))) } },
    "HTTP/1.0" => ->(o) { Array.new(2) { o.sum(Net::HTTP.get_response(o.url("/1.0"))) } },
    "Connection: close" => ->(o) { Array.new(2) { o.sum(Net::HTTP.get_response(o.url("/close"))) } },
    "204" => ->(o) { Array.new(2) { o.sum(Net::HTTP.get_response(o.url("/204"))) } },
    "304" => ->(o) { Array.new(2) { o.sum(Net::HTTP.get_response(o.url("/304"))) } },
    "404" => ->(o) { Array.new(2) { o.sum(Net::HTTP.get_response(o.url("/404"))) } },
    "100 before the answer" => ->(o) { Array.new(2) { o.sum(Net::HTTP.get_response(o.url("/100"))) } },
    "no HTTP" => ->(o) { Net::HTTP.get(o.url("/nonsense")) },
    "nobody there" => ->(_) { Net::HTTP.get(URI("http://127.0.0.1:#{Support::Ports::CLOSED}/")) },
    "read timeout" => ->(o) { o.http(read_timeout: 0.05, max_retries: 0).get("/never") },
    "streamed upload" => ->(o) { o.upload("Content-Length" => "9") },
    "chunked upload" => ->(o) { o.upload("Transfer-Encoding" => "chunked") },
    "multipart" => ->(o) { o.with(Net::HTTP::Put.new("/m")) { |r| r.set_form([%w[a b]], "multipart/form-data", boundary: "x") } },
    "credentials" => ->(o) { o.with(Net::HTTP::Get.new("/auth")) { |r| r.basic_auth("me", "secret") } },
    "URI.open" => ->(o) { o.url("/a").open { |f| [f.status, f.content_type, f.read] } },
    "URI.open, redirected" => ->(o) { o.url("/redirect").open { |f| [f.base_uri.path, f.read] } },
    "URI.open of what is not there" => ->(o) { o.url("/404").read },
    "net-http-persistent" => ->(o) { o.persistent { |p| [p.request(o.url("/1")).body, p.request(o.url("/2")).body] } },
    "a class of its own" => ->(o) { Class.new(Net::HTTP).get(o.url("/a")) }
  }.freeze

  # What the uses need.
  class Uses
    def initialize(origin) = @origin = origin

    def port = @origin.port

    def url(path) = @origin.url(path)

    def http(**options) = Net::HTTP.new("127.0.0.1", port, nil).tap { |h| options.each { |k, v| h.public_send(:"#{k}=", v) } }

    def session(&block) = http.start(&block)

    def pieces(http, path)
      [].tap { |all| http.request_get(path) { |response| response.read_body { |piece| all << piece } } }
    end

    def into(http, target)
      http.request_get("/big") { |response| response.read_body(target) }
      target
    end

    def with(request)
      yield request
      session { |h| h.request(request).body }
    end

    def left(http) = http.request_get("/1") { |response| return response.body }

    def sum(response) = [response.class, response.code, response.message, response.to_hash, response.body]

    def upload(fields)
      request = Net::HTTP::Put.new("/up", { "Content-Type" => "a/b" }.merge(fields))
      request.body_stream = StringIO.new("123456789")
      session { |h| h.request(request).body }
    end

    def persistent
      client = Net::HTTP::Persistent.new
      yield client
    ensure
      client.shutdown
    end
  end

  # Those that end in an error, without the pool as with it.
  FAILING = ["start twice", "finish twice", "no HTTP", "nobody there", "read timeout", "URI.open of what is not there"].freeze
  CHUNKED = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
  BIG = Array.new(20_000, &:to_s).join.freeze

  class << self
    def routes
      { "/big" => says(BIG), "/404" => says("not there", status: "404 Not Found"),
        "/gzip" => says(zipped, fields: ["Content-Encoding: gzip"]), "/gzip-chunked" => keeps(gzip_chunked),
        "/chunked" => keeps("#{CHUNKED}3;x=y\r\nabc\r\n4\r\ndefg\r\n0\r\nTrailer: 1\r\n\r\n"),
        "/until-the-end" => ends("HTTP/1.1 200 OK\r\n\r\nall of it"),
        "/1.0" => ends("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok"),
        "/close" => ends(NetHTTPCases.answer("ok", fields: ["Connection: close"])),
        "/204" => keeps("HTTP/1.1 204 No Content\r\n\r\n"), "/304" => keeps("HTTP/1.1 304 Not Modified\r\nETag: 1\r\n\r\n"),
        "/100" => keeps("HTTP/1.1 100 Continue\r\n\r\n#{NetHTTPCases.answer("ok")}"),
        "/nonsense" => ends("SSH-2.0-OpenSSH\r\n"), "/never" => ->(io, _) { io.read },
        "/redirect" => says("", status: "302 Found", fields: ["Location: /there"]),
        "/auth" => ->(io, request) { io.write(NetHTTPCases.answer(request.headers["authorization"])) } }
    end

    private

    def says(...) = keeps(NetHTTPCases.answer(...))

    def keeps(bytes) = ->(io, _) { io.write(bytes) }

    def ends(bytes) = ->(io, _) { io.write(bytes) && nil }

    def zipped = Zlib.gzip("squeezed" * 100)

    def gzip_chunked
      head = CHUNKED.sub("\r\n", "\r\nContent-Encoding: gzip\r\n")
      "#{head}#{zipped.bytesize.to_s(16)}\r\n".b + zipped + "\r\n0\r\n\r\n"
    end
  end

  def outcome
    [:value, yield]
  rescue StandardError => e
    [:error, e.class, e.message.gsub(/\d+/, "N")]
  end

  USES.each do |name, use|
    define_method(:"test_the_same_result_#{name.gsub(/\W+/, "_")}") do
      need("net/http/persistent") if name == "net-http-persistent"
      origin(self.class.routes) do |origin|
        NetHTTP.disable
        plain = outcome { use.call(Uses.new(origin)) }
        assert_equal(FAILING.include?(name), plain.first == :error, plain.inspect)
        NetHTTP.enable
        2.times { assert_equal(plain, outcome { use.call(Uses.new(origin)) }, name) }
        assert_operator(counted(:opened), :>, 0, "the pool was not used") unless name == "nobody there"
        assert_equal(0, NetHTTP.statistics.in_use)
        NetHTTP.clear
      end
    end
  end

  def nginx(&block)
    Support::NginxServer.start(server: 'location /connection { default_type text/plain; return 200 "$connection"; }', &block)
  end

  def test_a_hundred_gets_are_one_connection
    nginx do |server|
      url = URI("#{server.url}/connection")
      assert_equal(1, Array.new(100) { Net::HTTP.get(url) }.uniq.size)
      assert_equal([1, 99], [counted(:opened), counted(:reused)])
      NetHTTP.disable
      assert_equal(3, Array.new(3) { Net::HTTP.get(url) }.uniq.size, "without the pool each has its own")
    end
  end

  def test_ten_threads_are_at_most_ten_connections
    nginx do |server|
      url = URI("#{server.url}/connection")
      seen = Array.new(10) { Thread.new { Array.new(30) { Net::HTTP.get(url) } } }.flat_map(&:value)
      assert_equal(300, seen.size)
      assert_operator(seen.uniq.size, :<=, 10)
    end
  end

  def test_different_ways_to_say_it_share_a_connection
    nginx do |server|
      url = URI("#{server.url}/connection")
      seen = [Net::HTTP.get(url), Net::HTTP.get_response(url).body, Net::HTTP.new(url.host, url.port).get(url.path).body,
              Net::HTTP.start(url.host, url.port) { |http| http.request(Net::HTTP::Get.new(url)).body }, url.read]
      assert_equal(1, seen.uniq.size, seen.inspect)
    end
  end

  OWNERS = %i[request max_retries connect do_finish transport_request begin_transport end_transport].freeze

  def owners = OWNERS.map { |name| Net::HTTP.instance_method(name).owner }

  def test_disable_restores_the_methods
    refute_includes(owners, Net::HTTP)
    assert(NetHTTP.enabled?)
    NetHTTP.disable
    refute(NetHTTP.enabled?)
    assert_equal([Net::HTTP], owners.uniq)
    store = OpenSSL::X509::Store
    assert_equal([store] * 2, %i[add_file set_default_paths].map { |name| store.instance_method(name).owner })
    privates = %i[connect do_finish transport_request begin_transport end_transport]
    assert(privates.all? { |name| Net::HTTP.private_method_defined?(name) })
    NetHTTP.enable
    assert(privates.all? { |name| Net::HTTP.private_method_defined?(name) }, "they are private with the pool, too")
  end

  def test_enabled_for_a_block
    NetHTTP.disable
    assert_equal(7, NetHTTP.enabled { NetHTTP.enabled { NetHTTP.enabled? } && NetHTTP.enabled? && 7 })
    refute(NetHTTP.enabled?)
    assert_raises(KeyError) { NetHTTP.enabled { raise KeyError } }
    refute(NetHTTP.enabled?)
    NetHTTP.enable
    NetHTTP.enabled { nil }
    assert(NetHTTP.enabled?)
  end

  def test_disable_in_the_middle_of_a_session
    origin do |origin|
      http = http_to(origin).start
      assert_equal("GET /1 ", http.get("/1").body)
      NetHTTP.disable
      assert_equal(["GET /2 ", 1], [http.get("/2").body, origin.connections])
      http.finish
      wait_until { origin.open_connections.zero? }
      assert_equal(0, NetHTTP.statistics.in_use)
    end
  end

  def test_a_request_asks_for_the_connection_to_be_kept
    origin do |origin|
      http_to(origin).get("/")
      assert_nil(origin.requests.last.headers["connection"])
    end
  end

  def test_settings_that_make_no_sense
    [{ total: 0 }, { per_key: 1.5 }, { idle_timeout: -1 }, { idle_timeout: "x" }, { size: 3 }].each do |wrong|
      error = assert_raises(Plait::UsageError) { NetHTTP.configure(**wrong) }
      assert_includes(error.message, wrong.keys.first.to_s)
    end
    assert_equal(@settings, NetHTTP.configure.to_h)
  end

  def test_nothing_is_left_behind
    origin do |origin|
      assert_no_leaks do
        Array.new(5) { Thread.new { 5.times { Net::HTTP.get(origin.url) } } }.each(&:join)
        NetHTTP.clear
        wait_until { origin.open_connections.zero? }
      end
    end
  end
end
