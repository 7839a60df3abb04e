# frozen_string_literal: true

require "digest"

module Plait
  module Shard
    # Finds the node of a key. With the same nodes and rule as another proxy, it finds the data of that proxy.
    #
    # @example as twemproxy with `hash: fnv1a_64`, `distribution: ketama` and `hash_tag: "{}"`
    #   Placement.new(nodes, rule: :twemproxy, hash: :fnv1a_64, distribution: :ketama, tag: "{}").node_for("key")
    class Placement
      # Rules by name.
      # - redis_sharding: the original redis-sharding; a tag is behind the last brace of a key that ends in one.
      # - redis_sharding_perl: its version in Perl; behind the first brace.
      # - twemproxy: its defaults; nodes are in the order of their names.
      # - cluster: the slots of Redis Cluster, dealt out evenly.
      RULES = {
        redis_sharding: { hash: :crc32a, distribution: :modula, tag: :last_brace },
        redis_sharding_perl: { hash: :crc32a, distribution: :modula, tag: :first_brace },
        twemproxy: { hash: :fnv1a_64, distribution: :ketama, tag: nil }, # rubocop:disable Naming/VariableNumber -- its name
        cluster: { hash: :slot, distribution: :slots, tag: "{}" }
      }.freeze
      # In twemproxy's words, and `slot`, the CRC16 of Redis Cluster.
      # rubocop:disable-next Naming/VariableNumber -- their names
      HASHES = %i[
        crc32a crc32 crc16 slot fnv1_64 fnv1a_64 fnv1_32 fnv1a_32 one_at_a_time hsieh murmur jenkins md5
      ].freeze
      # From a hash to a node.
      DISTRIBUTIONS = %i[modula ketama slots].freeze

      # @return [Array<Node>] in the order of their indices
      attr_reader :nodes

      # @param nodes [Array<Node, String>]
      # @param rule [Symbol] of RULES
      # @param slots [Array<Integer>, nil] the index of each slot's node; nil: as the distribution has it
      # @param changes [Hash] `hash:` (of HASHES), `distribution:` (of DISTRIBUTIONS), `tag:` (two delimiters, :last_brace,
      #   :first_brace or nil) where they differ from the rule's
      # @raise [UsageError]
      def initialize(nodes, rule: :redis_sharding, slots: nil, **changes)
        settings = RULES.fetch(rule) { raise UsageError, "no placement #{rule.inspect}; there are #{RULES.keys.join(", ")}" }
        raise UsageError, "nodes: are a list, not #{nodes.inspect}" unless nodes.is_a?(Array)

        @nodes = arrange(nodes.map { |node| Node.parse(node) }, rule).freeze
        settings = settings.merge(changes)
        check(**settings)
        @hash, @distribution, @tag = settings.values_at(:hash, :distribution, :tag)
        @points = slots ? slots.map { |index| [0, index] } : Tables.public_send(@distribution, @nodes)
        @made = {}
        freeze
      end

      # @param key [String]
      # @return [Integer] the index of its node
      # @raise [UnsupportedError] without the extension, which has the hashes
      def node_for(key) = engine.node_for(key)

      # @return [Integer] the hash of the key's tag
      # @raise (see #node_for)
      def hash_of(key) = engine.hash_of(key)

      # @api private
      # @return [Boolean] whether each key has the same index with both
      def same_as?(other) = rule == other.rule

      # Made once: each beat of the lease asks for it several times for each node.
      # @api private
      # @return [String] equal for placements that have each key at the same node
      def fingerprint = @made[:fingerprint] ||= digest

      # @api private
      # @return [Node] the slot's
      def owner_of(slot) = @nodes[@points[slot].last]

      # @api private
      # @param numbers [Array<Integer>] of the nodes, in their order
      # @return [NativeShard::Placement] for the data plane
      def native(numbers = [*@nodes.each_index])
        points = @points.flat_map { |value, index| [value, numbers[index]] }
        NativeShard::Placement.new(@hash, @tag, points.pack("L*"), ring?)
      end

      protected

      # A key's index depends on these alone.
      def rule = [@hash, @distribution, @tag, @points]

      private

      def engine
        raise UnsupportedError, "the hashes of keys need the C extension: #{Native::REASON}" unless Native.available?

        @made[:engine] ||= native
      end

      def ring? = @distribution == :ketama

      # Packed: the text of 16,384 points takes five times as long.
      def digest
        names = [nodes.map(&:to_s), @hash, @distribution, @tag].inspect
        points = @points.transpose.map { |numbers| numbers.pack("N*") }
        [names, *points].inject(Digest::SHA256.new, :update).hexdigest[0, 16]
      end

      # twemproxy sorts by length first.
      def arrange(nodes, rule)
        raise UsageError, "at least one node is needed" if nodes.empty?

        rule == :twemproxy ? nodes.sort_by { |node| [node.name.bytesize, node.name] } : nodes
      end

      def check(hash:, distribution:, tag:)
        check_name(hash, HASHES, "hash")
        check_name(distribution, DISTRIBUTIONS, "distribution")
        return if [nil, :last_brace, :first_brace].include?(tag) || (tag.is_a?(String) && tag.bytesize == 2)

        raise UsageError, "the tag is two delimiters such as \"{}\", :last_brace, :first_brace or nil, not #{tag.inspect}"
      end

      def check_name(name, names, kind)
        raise UsageError, "no #{kind} #{name.inspect}; there are #{names.join(", ")}" unless names.include?(name)
      end

      # Tables from a hash to a node: an Array of [value, index of the node].
      # @api private
      module Tables
        SLOTS = 16_384
        POINTS_PER_NODE = 160
        # Of one MD5.
        POINTS_PER_DIGEST = 4

        module_function

        # Each node as often as its weight says; the index is the hash modulo the size.
        def modula(nodes) = nodes.each_with_index.flat_map { |node, index| [[0, index]] * node.weight }

        # A ring of points made from the names; a node's number of points follows its weight, in 32-bit floats as in twemproxy.
        def ketama(nodes)
          total = nodes.sum(&:weight)
          points = nodes.each_with_index.flat_map do |node, index|
            digests(node, nodes.size, total).flat_map do |number|
              Digest::MD5.digest("#{node.name}-#{number}").unpack("V4").map { |value| [value, index] }
            end
          end
          points.sort_by.with_index { |(value, _), place| [value, place] }
        end

        # Even ranges of the slots of Redis Cluster, as `redis-cli --cluster create` deals them out.
        def slots(nodes)
          total = nodes.sum(&:weight)
          ends = nodes.inject([0.0]) { |all, node| all << (all.last + (SLOTS * node.weight / total.to_f)) }.map(&:round)
          nodes.each_index.flat_map { |index| [[0, index]] * (ends[index + 1] - ends[index]) }
        end

        def digests(node, count, total)
          share = single(node.weight / total.to_f)
          points = single(single(single(share * POINTS_PER_NODE) / POINTS_PER_DIGEST) * count)
          (0...single(points + 0.0000000001).floor)
        end

        def single(number) = [number].pack("f").unpack1("f")
        private_class_method :digests, :single
      end
      private_constant :Tables
    end
  end
end
