# frozen_string_literal: true

require_relative "proxy/nodes"

class ShardSettingsTest < Minitest::Test
  include ShardNodes

  # As localhost often has ::1 first, where no Redis listens.
  def test_of_several_addresses_the_one_at_which_the_node_is
    settings = Plait::Shard.const_get(:Settings).new(nodes: ["somewhere:#{plain.port}"], connect_timeout: 0.5)
    all = %w[127.0.0.9 127.0.0.1].map { |host| Addrinfo.tcp(host, plain.port) }
    resolving_to(all) { assert_equal([all[1].to_sockaddr, "somewhere:#{plain.port}"], settings.addresses[0]) }
    resolving_to(all.first(1)) { assert_equal(all[0].to_sockaddr, settings.addresses[0][0]) }
  end

  def test_tags_and_tls_on_the_wrong_side
    { { tag: "{" } => /the tag is two/, { node_name: "a" } => /node_name: needs node_tls: true/,
      { client_ca: __FILE__ } => /client_ca: needs cert: too/, { config: 1 } => /config: is true/ }.each do |options, message|
      error = assert_raises(Plait::UsageError) { Plait::Shard.const_get(:Settings).new(nodes: ["a:1"], **options) }
      assert_match(message, error.message)
    end
  end

  private

  # While the block runs, any name has these addresses.
  def resolving_to(addresses)
    real = Addrinfo.method(:getaddrinfo)
    silently { Addrinfo.define_singleton_method(:getaddrinfo) { |*| addresses } }
    yield
  ensure
    silently { Addrinfo.define_singleton_method(:getaddrinfo, real) }
  end

  def silently
    verbose = $VERBOSE
    $VERBOSE = nil
    yield
  ensure
    $VERBOSE = verbose
  end
end
