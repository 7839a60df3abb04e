# frozen_string_literal: true

require "test_helper"
require "plait/io/endpoint"

class IoEndpointTest < Minitest::Test
  Endpoint = Plait.const_get(:Io)::Endpoint

  # text => [scheme, host, port, path, to_s]
  {
    "example.org:80" => [:tcp, "example.org", 80, nil, "tcp://example.org:80"],
    "127.0.0.1:1" => [:tcp, "127.0.0.1", 1, nil, "tcp://127.0.0.1:1"],
    "[::1]:65535" => [:tcp, "::1", 65_535, nil, "tcp://[::1]:65535"],
    "tcp://host:0" => [:tcp, "host", 0, nil, "tcp://host:0"],
    "tcp://host:8080/" => [:tcp, "host", 8080, nil, "tcp://host:8080"],
    "TLS://[fe80::1]:443" => [:tls, "fe80::1", 443, nil, "tls://[fe80::1]:443"],
    "ssl://host:443" => [:tls, "host", 443, nil, "tls://host:443"],
    "udp://host:53" => [:udp, "host", 53, nil, "udp://host:53"],
    "unix:///run/app.sock" => [:unix, nil, nil, "/run/app.sock", "unix:///run/app.sock"]
  }.each do |text, expected|
    define_method("test_parses_#{text}") do
      endpoint = Endpoint.parse(text)
      assert_equal(expected, [endpoint.scheme, endpoint.host, endpoint.port, endpoint.path, endpoint.to_s])
      assert_predicate(endpoint, :frozen?)
    end
  end

  ["host", "host:", "host:99999", "::1:80", "[::1", "[1:2]:3", "a b:1", "a\nb:1", "a\0b:1", "user@host:1", "host:1/path",
   "http://host:1", "unix://relative", "unix:///#{"x" * 200}", "", ":80", "tcp://", "host:-1", "host:1x"].each do |text|
    define_method("test_refuses_#{text.inspect}") do
      error = assert_raises(Plait::UsageError) { Endpoint.parse(text) }
      assert_match(/endpoint|port|scheme|path|address|[Nn]ame|IPv6/, error.message)
    end
  end

  def test_a_default_port
    assert_equal("tls://host:443", Endpoint.parse("tls://host", default_port: 443).to_s)
    assert_equal(1, Endpoint.parse("host:1", default_port: 443).port)
  end

  def test_is_a_key
    a, b = Endpoint.parse("tcp://host:1"), Endpoint.tcp("host", 1)
    assert_equal(a, b)
    assert_equal({ a => 1 }[b], 1)
    refute_equal(a, Endpoint.tls("host", 1))
    assert_same(a, Endpoint.parse(a))
  end

  def test_literal
    assert_equal([true, true, false, false],
                 %w[1.2.3.4:1 [::1]:1 1.2.3.4.example:1 256.1.1.1:1].map { |text| Endpoint.parse(text).literal? })
    assert_equal(Socket.sockaddr_in(1, "1.2.3.4"), Endpoint.parse("1.2.3.4:1").sockaddr)
    assert_nil(Endpoint.parse("localhost:1").sockaddr)
  end
end
