# frozen_string_literal: true

require "test_helper"
require "support/certificates"
require "support/io_cases"
require_relative "proxy_servers"
require "plait/http"
require "plait/http/proxy"
require "plait/http/url"
require "plait/io/tls"

class HTTPProxyTest < Minitest::Test
  Io = Plait.const_get(:Io)
  include IoCases

  Proxy = Plait::HTTP.const_get(:Proxy)
  Origin = Plait::HTTP::Origin
  PLAIN = Origin.new(:http, "origin.test", 8080)
  SECURE = Origin.new(:https, "origin.test", 8443)
  CA = Certificates::Authority.new
  LEAF = CA.issue("DNS:origin.test")
  GREETING = "SSH-2.0-origin\r\n"

  # [what is given] => [class, endpoint, to_s]
  {
    "http://h:81" => [Proxy::HTTP, "tcp://h:81", "http://h:81"], "h:81" => [Proxy::HTTP, "tcp://h:81", "http://h:81"],
    "HTTP://h/" => [Proxy::HTTP, "tcp://h:80", "http://h:80"], " http://u:p@[::1]:81 " => [Proxy::HTTP, "tcp://[::1]:81", "http://[::1]:81"],
    "socks5://u:p@h" => [Proxy::SOCKS5, "tcp://h:1080", "socks5://h:1080"],
    "socks5h://h:9" => [Proxy::SOCKS5, "tcp://h:9", "socks5h://h:9"]
  }.each do |text, (type, endpoint, shown)|
    define_method("test_parses_#{text.strip}") do
      proxy = Proxy.parse(text)
      assert_equal([type, endpoint, shown], [proxy.class, proxy.endpoint.to_s, proxy.to_s])
      assert_same(proxy, Proxy.parse(proxy))
    end
  end

  def test_credentials_are_decoded_and_never_shown
    proxy = Proxy.parse("http://us%20er:p%40ss%3A@h:1")
    assert_equal("Basic #{["us er:p@ss:"].pack("m0")}", proxy.authorization)
    socks = Proxy.parse("socks5://us%20er:p%40ss@h:1")
    [proxy, socks].each { |one| refute_match(/us|p@ss|Basic/, "#{one}#{one.inspect}".sub("Plait::HTTP", "")[/h:1.*/]) }
  end

  # [what is given] => [error, message]
  {
    "http://u:p\xFF@h\xFF" => [Plait::UsageError, %r{"http://…@h\ufffd" is no address of a proxy}],
    "" => [Plait::UsageError, /"" is no address of a proxy; give http:/], "http://" => [Plait::UsageError, /no address/],
    "http://h:1/path" => [Plait::UsageError, /no address/], "http://h:99999" => [Plait::UsageError, /99999.*no port/],
    "ftp://h" => [Plait::UsageError, %r{the proxy ftp://h: "ftp" is no scheme of a proxy; give http:}],
    "https://u:secret@h:1" => [Plait::UnsupportedError, %r{the proxy https://h:1: TLS to the proxy itself}],
    "socks4://h" => [Plait::UnsupportedError, /SOCKS 4.*socks5:/], "socks://h" => [Plait::UnsupportedError, /socks5:/],
    "http://u:sec/ret@h:1" => [Plait::UsageError, %r{"http://…@h:1" is no}], "u:secret/@h" => [Plait::UsageError, /"…@h" is no/],
    "http://u:secret@h h" => [Plait::UsageError, /h h/], "http://u:secret@h/?" => [Plait::UsageError, %r{"http://…@h/\?" is no}],
    "http://a%3Ab:secret@h" => [Plait::UsageError, /colon/], "socks5://#{"u" * 256}:secret@h" => [Plait::UsageError, /255 bytes/],
    "socks5://user@h" => [Plait::UsageError, /1 to 255 bytes/]
  }.each do |text, (type, message)|
    define_method("test_refuses_#{text[0, 30].inspect}") do
      error = assert_raises(type) { Proxy.parse(text) }
      assert_match(message, error.message)
      refute_match(/secret/, error.message)
    end
  end

  # [scheme and host, environment] => the proxy
  {
    [:http, {}] => nil, [:http, { "http_proxy" => "h:1" }] => "http://h:1", [:https, { "http_proxy" => "h:1" }] => nil,
    [:https, { "https_proxy" => "http://h:1" }] => "http://h:1", [:http, { "HTTP_PROXY" => "h:1" }] => "http://h:1",
    [:http, { "http_proxy" => "a:1", "HTTP_PROXY" => "b:1" }] => "http://a:1",
    [:http, { "http_proxy" => "", "HTTP_PROXY" => "b:1" }] => "http://b:1",
    [:http, { "all_proxy" => "socks5h://h" }] => "socks5h://h:1080", [:https, { "ALL_PROXY" => "h:1" }] => "http://h:1",
    [:http, { "http_proxy" => "a:1", "all_proxy" => "b:1" }] => "http://a:1",
    [:http, { "HTTP_PROXY" => "h:1", "REQUEST_METHOD" => "GET" }] => nil,
    [:http, { "http_proxy" => "h:1", "REQUEST_METHOD" => "GET" }] => "http://h:1",
    [:https, { "HTTPS_PROXY" => "h:1", "REQUEST_METHOD" => "GET" }] => "http://h:1"
  }.each do |(scheme, env), proxy|
    define_method("test_for_#{scheme}_the_environment_#{env}_names") do
      assert_proxy(proxy, Origin.new(scheme, "a.test"), env)
    end
  end

  # no_proxy => [hosts without, hosts with a proxy]
  {
    "*" => [%w[a.test 1.2.3.4], []], "" => [[], %w[a.test]],
    "a.test" => [%w[a.test w.a.test a.test:81 A.TEST], %w[xa.test test a.test.b]],
    ".a.test" => [%w[w.a.test], %w[a.test xa.test]],
    "b.test, A.test c.test,," => [%w[a.test b.test c.test], %w[d.test]],
    "a.test:81" => [%w[a.test:81 w.a.test:81], %w[a.test a.test:82]],
    "1.2.3.4,10.0.0.0/8" => [%w[1.2.3.4 10.9.8.7], %w[1.2.3.5 11.0.0.1 a.test 10.a.test]],
    "::1:2,fe80::/10,[::3]:81" => [%w[[::1:2] [fe80::5] [::3]:81], %w[[::2] [::3] 0.0.1.2]],
    "1.2.3.4:81" => [%w[1.2.3.4:81], %w[1.2.3.4]],
    "none" => [%w[localhost 127.0.0.1 127.9.9.9 [::1]], %w[localhost.test 128.0.0.1]]
  }.each do |exceptions, (without, with)|
    define_method("test_no_proxy_#{exceptions.inspect}") do
      env = { "http_proxy" => "h:1", "no_proxy" => exceptions }
      without.each { |host| assert_proxy(nil, origin(host), env) }
      with.each { |host| assert_proxy("http://h:1", origin(host), env) }
      without.each { |host| assert_proxy(nil, origin(host), { "HTTP_PROXY" => "h:1", "NO_PROXY" => exceptions }) }
    end
  end

  def test_a_broken_variable_is_named
    error = assert_raises(Plait::UsageError) { Proxy.from_environment(PLAIN, { "ALL_PROXY" => "x y" }) }
    assert_match(/\Athe environment variable ALL_PROXY: /, error.message)
    assert_raises(Plait::UnsupportedError) { Proxy.from_environment(PLAIN, { "http_proxy" => "https://x" }) }
  end

  def test_an_http_proxy_is_only_connected_to_for_plain_origins
    serving(->(socket) { socket.write("from the proxy") }) do |port|
      proxy = Proxy.parse("http://127.0.0.1:#{port}")
      assert(proxy.absolute_form?(PLAIN))
      refute(proxy.absolute_form?(SECURE))
      with(proxy.connect(connector, PLAIN, deadline: within(10))) { |socket| assert_equal("from the proxy", socket.read) }
    end
  end

  everywhere("connects by an HTTP proxy") do
    through_http do |proxy, requests|
      socket = proxy.connect(connector, SECURE, deadline: within(10), phases: (phases = Io::Connector::Phases.new))
      with(socket) { assert_equal(GREETING, greet(socket)) }
      assert_operator(phases.connect, :>, 0)
      assert_equal("CONNECT origin.test:8443 HTTP/1.1\r\nHost: origin.test:8443\r\n\r\n", requests.pop)
    end
  end

  everywhere("connects by a SOCKS5 proxy") do
    through_socks do |proxy, requests|
      [PLAIN, SECURE].each do |origin|
        refute(proxy.absolute_form?(origin))
        with(proxy.connect(connector, origin, deadline: within(10))) { |socket| assert_equal(GREETING, read_line(socket)) }
        assert_equal(["origin.test", origin.port, nil], requests.pop)
      end
    end
  end

  everywhere("speaks TLS by either") do
    serving_tls do |origin_port|
      to = ->(*) { ["127.0.0.1", origin_port] }
      serving(ProxyServers.connect(Queue.new, to: to)) { |port| assert_secure("http://127.0.0.1:#{port}") }
      serving(ProxyServers.socks5(Queue.new, to: to)) { |port| assert_secure("socks5h://127.0.0.1:#{port}") }
    end
  end

  def test_gives_an_http_proxy_its_credentials
    through_http("user:pass") do |proxy, requests|
      with(proxy.connect(connector, SECURE)) { |socket| assert_equal(GREETING, greet(socket)) }
      assert_match(/^Proxy-Authorization: Basic #{["user:pass"].pack("m0")}\r$/, requests.pop)
    end
  end

  def test_an_answer_of_an_http_proxy_may_come_byte_by_byte_and_after_others
    lambda do |socket|
      socket.gets("\r\n\r\n")
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 299 Fine\r\nA: b\r\n\r\n".each_char { |byte| socket.write(byte) && sleep(0.0005) }
      socket.gets && socket.write("origin")
    end.then do |slow|
      serving(slow) do |port|
        with(Proxy.parse("http://127.0.0.1:#{port}").connect(connector, SECURE, deadline: within(10))) do |socket|
          socket.write("hello\n")
          assert_equal("origin", socket.read)
        end
      end
    end
  end

  # An answer of an HTTP proxy => what is said of it
  {
    "HTTP/1.1 403 Forbidden\r\nContent-Length: 3\r\n\r\nno!" => /refused to connect to origin\.test:8443: 403 Forbidden\z/,
    "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\n\r\n" =>
      %r{407 .*it wants user and password \(Basic realm="x"\): give them as http://user:password@127},
    "HTTP/1.1 302 Found\r\nLocation: http://evil.test/\r\n\r\n" => /refused .*302 Found/,
    "HTTP/1.1 502 Bad Gateway\r\n\r\n" => /502 Bad Gateway/,
    "HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n" => /did not connect/,
    "HTTP/1.1 200 OK\r\n\r\nearly" => /sent bytes before the origin could be asked/,
    "HTTP/1.1 200 OK\r\nX: y\r\n" => /did not connect to origin\.test:8443: .*input ended inside a head/,
    "SSH-2.0-OpenSSH\r\n" => /did not connect to .*(no status line|not.*HTTP)/
  }.each do |answer, message|
    everywhere("refuses for #{answer[0, 24].inspect} #{answer.size} of an HTTP proxy") do
      refused = assert_refused(Plait::ConnectError, "http", ProxyServers.connect(Queue.new, answer: answer))
      assert_match(message, refused.message)
      assert_match(%r{\Athe proxy http://127\.0\.0\.1:\d+ }, refused.message)
    end
  end

  def test_an_http_proxy_that_does_not_accept_the_credentials
    answer = "HTTP/1.1 407 No\r\n\r\n"
    refused = assert_refused(Plait::ConnectError, "http://user:secret@", ProxyServers.connect(Queue.new, answer: answer))
    assert_match(/407 No: it wants another user and password: give/, refused.message)
    refute_match(/secret/, refused.message)
  end

  # What a SOCKS5 proxy does => what is said of it
  {
    "takes nobody" => [{ method: 0xff }, /refused .*it wants a user and a password: give them as socks5:/],
    "chooses what was not offered" => [{ method: 9 }, /does not speak SOCKS5: it answered the method 9/],
    "fails" => [{ reply: ->(_) { 1 } }, /could not connect to origin\.test:8443: it says that it failed/],
    "does not allow it" => [{ reply: ->(_) { 2 } }, /its rules/],
    "finds nobody" => [{ reply: ->(_) { 5 } }, /nothing listens there/],
    "says what nobody knows" => [{ reply: ->(_) { 99 } }, /99, which RFC 1928/],
    "has an odd address" => [{ bound: "\x07".b }, /an address of the kind 7/]
  }.each do |what, (options, message)|
    everywhere("refuses when a SOCKS5 proxy #{what}") do
      refused = assert_refused(Plait::ConnectError, "socks5h", ProxyServers.socks5(Queue.new, **options))
      assert_match(message, refused.message)
      assert_match(%r{\Athe proxy socks5h://127\.0\.0\.1:\d+ }, refused.message)
    end
  end

  def test_gives_a_socks_proxy_its_credentials
    through_socks("socks5h://user:p%40ss@", method: 2) do |proxy, requests|
      with(proxy.connect(connector, SECURE)) { |socket| assert_equal(GREETING, read_line(socket)) }
      assert_equal(["origin.test", 8443, ["user", "p@ss"]], requests.pop)
    end
    refused = assert_refused(Plait::ConnectError, "socks5h://user:secret@", ProxyServers.socks5(Queue.new, method: 2, login: 1))
    assert_match(/it does not accept this user and password/, refused.message)
    refute_match(/secret/, refused.message)
    refused = assert_refused(Plait::ConnectError, "socks5h://user:secret@", ProxyServers.socks5(Queue.new, method: 0xff))
    assert_match(/takes neither/, refused.message)
  end

  # The kinds of addresses a proxy may have connected from, and all of it byte by byte: the origin's first byte is ours.
  def test_takes_what_a_socks_proxy_says_and_not_a_byte_more
    ["\x01\x7f\0\0\1".b, "\x03\x05a.com".b, "\x03\x00".b, "\x04#{"\0" * 16}".b].product([true, false]).each do |bound, slowly|
      through_socks(bound: bound, slowly: slowly) do |proxy, _|
        with(proxy.connect(connector, SECURE)) { |socket| assert_equal(GREETING, read_line(socket)) }
      end
    end
  end

  def test_literal_addresses_are_addresses_for_socks
    through_socks do |proxy, requests|
      { "127.0.0.9" => "127.0.0.9", "[::9]" => "::9" }.each do |host, address|
        with(proxy.connect(connector, origin("#{host}:7"))) { |socket| assert_equal(GREETING, read_line(socket)) }
        assert_equal([address, 7, nil], requests.pop)
      end
    end
  end

  everywhere("socks5 resolves here, and tries one address after the other") do
    reply = ->(address) { address == "127.0.0.3" ? 0 : 5 }
    through_socks("socks5://", reply: reply) do |proxy, requests|
      connector = self.connector(resolver: FixedResolver.new("::2", "127.0.0.2", "127.0.0.3", "127.0.0.4"))
      with(proxy.connect(connector, SECURE, deadline: within(10))) { |socket| assert_equal(GREETING, read_line(socket)) }
      assert_equal(["::2", "127.0.0.2", "127.0.0.3"], Array.new(3) { requests.pop.first })
      assert_empty(requests)
    end
    refused = assert_refused(Plait::ConnectError, "socks5://", ProxyServers.socks5(Queue.new, reply: ->(_) { 4 }))
    assert_match(/could not connect to origin\.test:8443: it does not reach this host/, refused.message)
  end

  def test_a_name_that_is_too_long_for_socks
    serving(->(_) { flunk("connected to") }) do |port|
      assert_raises(Plait::UsageError) { Proxy.parse("socks5h://127.0.0.1:#{port}").connect(connector, origin("#{"a" * 256}:1")) }
    end
  end

  def test_an_http_proxy_that_was_given_as_socks
    peer = ->(socket) { socket.write("HTTP/1.1 400 Bad Request\r\n\r\n") && socket.read }
    refused = assert_refused(Plait::ConnectError, "socks5h", peer)
    assert_match(%r{it answered "HT": is it an HTTP proxy\? Then give it as http://}, refused.message)
  end

  %w[http socks5h].product(ProxyServers::MISBEHAVIOUR.to_a).each do |scheme, (what, peer)|
    everywhere("a proxy for #{scheme} that #{what}") do
      type, seconds = what == "stalls" ? [Plait::ConnectTimeout, 0.3] : [Plait::ConnectError, 10]
      error = assert_refused(type, scheme, peer, seconds: seconds)
      assert_match(%r{\Athe proxy #{scheme}://127\.0\.0\.1:\d+(?: .*origin\.test:8443|: can't connect to .*reset)}, error.message)
      assert_equal(:connect, error.phase) if what == "stalls"
    end
  end

  def test_nobody_at_the_proxy
    port = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }
    %w[http socks5h].each do |scheme|
      error = assert_raises(Plait::ConnectError) { Proxy.parse("#{scheme}://127.0.0.1:#{port}").connect(connector, SECURE) }
      assert_match(%r{\Athe proxy #{scheme}://127\..*can't connect to tcp:.*nothing listens}, error.message)
    end
  end

  def test_a_kill_leaves_nothing_behind
    assert_no_leaks do
      accepted = Queue.new
      serving(->(socket) { accepted.push(1) && socket.read }) do |port|
        thread = Thread.new { Proxy.parse("http://127.0.0.1:#{port}").connect(connector, SECURE) }
        accepted.pop
        thread.kill.join
      end
    end
  end

  private

  def connector(resolver: FixedResolver.new("127.0.0.2"), tls: nil) = Io::Connector.new(resolver: resolver, tls: tls)

  def origin(host) = Plait::HTTP::URL.parse("http://#{host}/").origin

  def assert_proxy(expected, origin, env)
    proxy = Proxy.from_environment(origin, env)
    expected ? assert_equal(expected, proxy.to_s, origin.to_s) : assert_nil(proxy, origin.to_s)
  end

  def with(socket)
    yield(socket)
  ensure
    socket.close
  end

  # A line, of a socket that does not block.
  def read_line(socket) = Io::Stream.new(socket).read_exactly(GREETING.bytesize, deadline: within(10))

  # As in TLS it is we who begin.
  def greet(socket)
    socket.write("hello\n")
    read_line(socket)
  end

  def through_http(credentials = nil)
    serving(->(socket) { socket.gets && socket.write(GREETING) }) do |origin_port|
      requests = Queue.new
      serving(ProxyServers.connect(requests, to: ->(_) { ["127.0.0.1", origin_port] })) do |port|
        yield(Proxy.parse("http://#{"#{credentials}@" if credentials}127.0.0.1:#{port}"), requests)
      end
    end
  end

  def through_socks(prefix = "socks5h://", **options)
    serving(->(socket) { socket.write(GREETING) && socket.read }) do |origin_port|
      requests = Queue.new
      serving(ProxyServers.socks5(requests, to: ->(*) { ["127.0.0.1", origin_port] }, **options)) do |port|
        yield(Proxy.parse("#{prefix}127.0.0.1:#{port}"), requests)
      end
    end
  end

  def serving_tls(&block)
    server = Io::TLS::Server.new(**LEAF.to_h)
    serving(->(socket) { server.handshake(socket).then { |tls| tls.write("secret") && tls.close } }, &block)
  end

  def assert_secure(proxy)
    client = Io::TLS::Client.new(cert_store: CA.store)
    socket = Proxy.parse(proxy).connect(connector, SECURE, deadline: within(10))
    stream = Io::Stream.new(client.handshake(socket, SECURE.endpoint, deadline: within(10)))
    assert_equal("secret", stream.read_exactly(6, deadline: within(10)))
  ensure
    stream&.close
  end

  # What comes of a proxy that does not do its work: an error before anything has reached the origin, and no descriptor.
  def assert_refused(type, prefix, peer, seconds: 10)
    prefix = "#{prefix}://" unless prefix.include?(":")
    serving(peer) do |port|
      error = nil
      proxy = Proxy.parse("#{prefix}127.0.0.1:#{port}")
      assert_no_sockets { error = assert_raises(type) { proxy.connect(connector, SECURE, deadline: within(seconds)) } }
      assert_equal([proxy.endpoint.to_s, true], [error.endpoint, error.retry_safe?])
      return error
    end
  end

  # The proxy is in this process too: its descriptors may come and go, ours are Sockets that no server has accepted.
  def assert_no_sockets
    GC.disable
    before = ObjectSpace.each_object(Socket).reject(&:closed?)
    yield
    assert_empty(ObjectSpace.each_object(Socket).reject { |socket| socket.closed? || before.include?(socket) })
  ensure
    GC.enable
  end
end
