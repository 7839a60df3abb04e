# frozen_string_literal: true

require "support/redis_cluster"
require_relative "../proxy/nodes"

# For tests of the proxy before a cluster.
module Clusters
  include ShardNodes

  # The one that all tests of this process share; a test that breaks one starts its own.
  class Shared
    class << self
      def cluster = @cluster ||= Support::RedisCluster.new(masters: 3)
    end
  end

  def hard_timeout = 180

  private

  def cluster = Shared.cluster

  # @yieldparam proxy [Plait::Shard::Proxy] with empty nodes behind it
  def with_cluster_proxy(cluster = self.cluster, **options, &block)
    cluster.masters.each { |server| cluster.call(server, "FLUSHALL") if server.pid }
    Plait::Shard::Proxy.open(cluster: cluster.addresses.first(1), listen: "127.0.0.1:0", **options, &block)
  end

  # @param writers [Array<#round>] each in a thread of its own
  def while_all_write(writers)
    ended = false
    threads = writers.map { |writer| Thread.new { writer.round until ended } }
    yield
  ensure
    ended = true
    threads.each(&:join)
  end

  def decode(reply) = reply && Plait.const_get(:Protocols)::RESP.decode(reply)

  def await(&block) = Support::Waiting.wait_until(timeout: 60, &block)
end
