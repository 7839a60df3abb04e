# frozen_string_literal: true

require "test_helper"
require "support/redis_conversation"
require "support/redis_server"
require_relative "../patience"

# For tests of the proxy: real servers behind it, and one beside it for comparison.
module ShardNodes
  COUNT = 4
  # Computes for ARGV[1] seconds. Redis 8 stops the time of its TIME while a script runs, and Redis 7.0 has no os.clock.
  LONG_SCRIPT = <<~LUA
    local os = rawget(_G, 'os')
    local function now()
      if os then return os.clock() end
      local time = redis.call('TIME')
      return time[1] + time[2] / 1000000
    end
    local from = now()
    repeat until now() > from + ARGV[1]
    return 1
  LUA

  # The servers that all tests of this process share; a test that breaks one starts its own.
  class Shared
    class << self
      def nodes = @nodes ||= Array.new(COUNT) { Support::RedisServer.start }

      def plain = @plain ||= Support::RedisServer.start
    end
  end

  def setup
    super
    skip("epoll is Linux's") unless Plait.const_defined?(:NativeShard) && Plait.const_get(:NativeShard).const_defined?(:Plane)
  end

  private

  def nodes = Shared.nodes

  def plain = Shared.plain

  def addresses(servers = nodes) = servers.map { |server| "127.0.0.1:#{server.port}" }

  # @yieldparam proxy [Plait::Shard::Proxy] with empty nodes behind it
  def with_proxy(servers = nodes, **options, &block)
    servers.each { |server| call(server.port, "FLUSHALL") if server.alive? }
    Plait::Shard::Proxy.open(nodes: addresses(servers), listen: "127.0.0.1:0", **options, &block)
  end

  # @yieldparam conversation [Support::RedisConversation]
  def converse(port, &block) = Support::RedisConversation.open(port, &block)

  def call(port, *words) = converse(port) { |redis| redis.call(*words) }

  def encode(*words) = Support::RedisConversation.encode(*words)

  # A key that belongs to a node.
  def key_on(proxy, node) = (0..).lazy.map { |i| "key#{i}" }.find { |key| proxy.placement.node_for(key) == node }
end
