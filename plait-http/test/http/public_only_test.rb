# frozen_string_literal: true

require_relative "proxy_servers"
require_relative "scripted_origin"

# `public_only: true`: no address of this machine or of a network behind it is asked, whichever way a URL leads there.
class HTTPPublicOnlyTest < Minitest::Test
  include ClientCases

  HTTP = Plait::HTTP
  PUBLIC = HTTP.const_get(:Connections).const_get(:PublicAddresses)
  # Names that a test gives addresses.
  Names = Struct.new(:addresses) do
    def resolve(host, port, **_limits) = addresses.fetch(host).map { |address| Addrinfo.tcp(address, port) }
  end

  SPECIAL = %w[
    0.0.0.0 10.1.2.3 100.64.0.1 127.0.0.1 127.8.8.8 169.254.169.254 172.16.0.1 172.31.255.255 192.168.1.1 198.18.0.1 203.0.113.9
    224.0.0.1 255.255.255.255 :: ::1 ::ffff:127.0.0.1 ::ffff:8.8.8.8 64:ff9b::a9fe:a9fe fe80::1 fc00::1 fd00::1 ff02::1
    2001:db8::1 2002:7f00:1::1 2001::1
  ].freeze

  def test_addresses_that_are_public
    %w[1.1.1.1 8.8.8.8 172.32.0.1 100.128.0.1 192.169.0.1 2606:4700::1111 2a00:1450::1].each do |address|
      assert(PUBLIC.call(Addrinfo.tcp(address, 80)), address)
    end
  end

  def test_addresses_that_are_not
    SPECIAL.each { |address| refute(PUBLIC.call(Addrinfo.tcp(address, 80)), address) }
  end

  def test_refuses_addresses_in_each_spelling
    with_origin(public_only: true) do |client, origin|
      ["127.0.0.1", "[::1]", "localhost", "127.1", "0x7f000001", "2130706433", "[::ffff:127.0.0.1]"].each do |host|
        error = assert_raises(Plait::ConnectError, host) { client.get("http://#{host}:#{origin.port}/") }
        assert_predicate(error, :retry_safe?)
      end
      assert_empty(origin.requests)
    end
  end

  def test_refuses_a_name_of_which_one_address_is_private
    names = Names.new({ "both.test" => %w[8.8.8.8 10.0.0.1] })
    HTTP::Client.open(**PROXY, public_only: true, connector: { resolver: names }) do |client|
      error = assert_raises(Plait::ConnectError) { client.get("http://both.test/") }
      assert_match(/both\.test.* is refused: its address 10\.0\.0\.1/, error.message)
    end
  end

  def test_refuses_streams_and_fan_outs
    with_origin(public_only: true) do |client, origin|
      assert_raises(Plait::ConnectError) { client.get(origin.url("/")) { flunk } }
      assert_raises(Plait::ConnectError) { client.fan_out([origin.url("/")]) }
      assert_raises(Plait::ConnectError) { HTTP.get(origin.url("/"), public_only: true, proxy: false) }
    end
  end

  def test_refuses_what_a_proxy_would_ask
    with_origin do |_, origin|
      %w[http socks5 socks5h].each do |scheme|
        HTTP::Client.open(public_only: true, proxy: "#{scheme}://127.0.0.1:9") do |client|
          error = assert_raises(Plait::ConnectError) { client.get(origin.url("/")) }
          assert_match(/127\.0\.0\.1 is not one that may be asked/, error.message)
        end
      end
    end
  end
end
