# frozen_string_literal: true

require "socket"
require_relative "../native"
require_relative "../values/errors"
require_relative "placement"

module Plait
  module Shard
    # What a {Proxy} does, apart from where it listens: checked, and not changed any more. A reload makes a new one.
    # @api private
    class Settings
      # Of the options that are not about the placement.
      DEFAULTS = {
        connect_timeout: 1.0, timeout: 10.0, retry: 0.5, slow: 0.1, client_bytes: 256 << 20, clients: 50_000,
        strategy: :auto, chunk: 64 << 10
      }.freeze
      # From how many bytes on something is forwarded while it arrives; `:auto` has no use for small chunks, since each needs a
      # connection of its own.
      STRATEGIES = { strict: ->(_chunk) { 0 }, lazy: ->(chunk) { chunk }, auto: ->(chunk) { [chunk, 64 << 10].max } }.freeze
      # Of the chunk: what a head of a command and its key need, and what one thread reads at once.
      CHUNKS = (1024..(256 << 10))
      # Those about who may do what.
      ACCESS = { password: nil, node_user: nil, node_password: nil, users: false }.freeze
      # The most that the data plane has room for, and what it counts with.
      SECRET_BYTES = 511
      LARGEST = { client_bytes: (1 << 62) - 1, clients: (1 << 31) - 1 }.freeze
      PLACEMENT = %i[hash distribution tag].freeze
      private_constant :STRATEGIES, :CHUNKS, :SECRET_BYTES, :LARGEST, :PLACEMENT

      # @return [Placement]
      attr_reader :placement
      # @return [Hash{Symbol => Object}]
      attr_reader :options

      # @raise [UsageError]
      def initialize(nodes:, placement: :redis_sharding, **options)
        @placement = Placement.new(nodes, rule: placement, **options.slice(*PLACEMENT))
        @options = DEFAULTS.merge(ACCESS, options.except(*PLACEMENT)).freeze
        check_names
        check_buffers(**@options.slice(:strategy, :chunk))
        check_numbers
        check_access
      end

      # @return [Array<(String, String)>] of each node: its address, packed, and its name
      # @raise [ResolveError]
      def addresses
        @placement.nodes.map do |node|
          [Addrinfo.tcp(node.host, node.port).to_sockaddr, node.to_s]
        rescue SocketError => e
          raise ResolveError.new("the node #{node} has no address: #{e.message}", endpoint: "tcp://#{node}")
        end
      end

      # @return [Hash{Symbol => Object}] for the data plane
      def native_options
        chunk = STRATEGIES.fetch(@options[:strategy]).call(@options[:chunk])
        @options.merge(chunk: chunk, strict: @options[:strategy] == :strict)
      end

      # @return [Boolean] whether each key is at the same address with both
      def same_places?(other)
        addresses == other.addresses && @placement.same_as?(other.placement)
      end

      private

      def check_names
        known = [*DEFAULTS.keys, *ACCESS.keys]
        odd = @options.keys - known
        raise UsageError, "no option #{odd.first}; there are hash, distribution, tag, #{known.join(", ")}" if odd.any?
      end

      def check_buffers(strategy:, chunk:)
        return if STRATEGIES.key?(strategy) && chunk.is_a?(Integer) && CHUNKS.cover?(chunk)

        raise UsageError, "strategy: is one of #{STRATEGIES.keys.join(", ")}, and chunk: from #{CHUNKS.min} to #{CHUNKS.max} " \
                          "bytes, not #{strategy.inspect} and #{chunk.inspect}"
      end

      def check_numbers
        @options.slice(*DEFAULTS.keys - [:strategy]).each do |name, value|
          whole = DEFAULTS.fetch(name).is_a?(Integer)
          fits = (whole ? value.is_a?(Integer) : value.is_a?(Numeric)) && value >= 0
          raise UsageError, "#{name}: is #{whole ? "a number" : "seconds"}, at least 0, not #{value.inspect}" unless fits

          most = LARGEST[name]
          raise UsageError, "#{name}: is #{most} at most, not #{value}" if most && value > most
        end
      end

      # A secret is not shown.
      def check_access
        %i[password node_user node_password].each do |name|
          value = @options[name]
          fits = value.is_a?(String) && (1..SECRET_BYTES).cover?(value.bytesize) && !value.include?("\0")
          raise UsageError, "#{name}: is a text of 1 to #{SECRET_BYTES} bytes, or nil" unless value.nil? || fits
        end
        raise UsageError, "node_user: needs node_password: too" if @options[:node_user] && !@options[:node_password]
        return if [true, false].include?(@options[:users])

        raise UsageError, "users: is true or false, not #{@options[:users].inspect}"
      end
    end
  end
end
