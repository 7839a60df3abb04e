# frozen_string_literal: true

require "socket"
require "plait"
# Where it is required by name: opening the constant must not load it a second time.
Plait.autoload(:Shard, __FILE__) if Plait.autoload?(:Shard)

require_relative "shard/native"
require_relative "shard/node"
require_relative "shard/node_connection"
require_relative "shard/command_table"
require_relative "shard/settings"
require_relative "shard/placement"
require_relative "shard/proxy"

module Plait
  # The Redis sharding proxy: several nodes behind one address, so that they work at the same time.
  #
  # @example
  #   Plait::Shard::Proxy.open(nodes: %w[127.0.0.1:7001 127.0.0.1:7002], listen: "127.0.0.1:6380") { |proxy| sleep }
  module Shard
    # @api private
    def self.read(...) = Settings.read(...)

    # @api private
    def self.value_of(...) = Settings.value_of(...)
  end
end
