# frozen_string_literal: true

require "zlib"
require_relative "placement"

module Plait
  module Shard
    # The roles of nodes at one time: masters with the places of keys among them, replicas of each, and other known nodes.
    class Topology
      # @return [Placement] of the masters
      attr_reader :placement
      # @return [Array<Array<Node>>] for each master, in the order of the placement
      attr_reader :replicas
      # @return [Array<Node>] nodes without keys
      attr_reader :others
      # @return [Boolean] whether the owner of some places is unknown
      attr_reader :partial
      alias partial? partial

      def initialize(placement, replicas: placement.nodes.map(&:replicas), others: [], partial: false)
        @placement = placement
        @replicas = replicas
        @others = others
        @partial = partial
        freeze
      end

      def masters = placement.nodes

      # @return [Array<Node>] masters first
      def nodes = [*masters, *replicas.flatten, *others]

      # @return [Boolean] whether each key is at the same address with both, and so are the replicas
      def same_as?(other) = partial == other.partial && placement.same_as?(other.placement) && addresses == other.addresses

      protected

      def addresses = [masters.map(&:to_s), replicas.map { |own| own.map(&:to_s).sort }, others.map(&:to_s).sort]
    end

    # Where a {Topology} comes from.
    module Sources
      # The nodes of the settings, which never change.
      class Fixed
        # @param rule [Hash] as for {Placement}
        # @raise [UsageError]
        def initialize(nodes, rule)
          @topology = Topology.new(Placement.new(nodes, **rule))
          check
        end

        # @return [Boolean] whether it may change
        def watched? = false

        # @return [Boolean] whether its nodes form a cluster
        def cluster? = false

        def read(*) = @topology

        private

        # Its keys would be counted twice, and listed.
        def check
          twice, = @topology.nodes.map(&:to_s).tally.find { |_, count| count > 1 }
          raise UsageError, "the node #{twice} is named twice; a weight gives it more keys: #{twice}:2" if twice
        end
      end
    end

    # The data plane's number of each node. A number is never given to another node, so a request under way stays unambiguous.
    # The data plane has its topology in these numbers.
    class NodeNumbers
      # Places for later nodes, where the topology may change.
      LEAST_ROOM = 256
      MOST_ROOM = 1024
      ROOM_EACH = 4
      # The number of no node.
      NONE = 0xffffffff

      # @return [Integer] nodes at most
      attr_reader :room

      # @return [Array<String>] the address of each number
      attr_reader :labels

      # @param grows [Boolean] whether the topology may get more nodes
      # @yieldparam name [String] of a node
      # @yieldreturn [Array, nil] its fence
      # @raise [ResolveError]
      # @raise [UsageError] there are too many
      def initialize(topology, access, grows:, &fence)
        count = topology.nodes.map(&:to_s).uniq.size
        raise UsageError, "#{count} nodes are more than the #{MOST_ROOM} that may be" if grows && count > MOST_ROOM

        @room = grows ? (count * ROOM_EACH).clamp(LEAST_ROOM, MOST_ROOM) : [topology.nodes.size, 1].max
        @access = access
        @fence = fence
        @grows = grows
        @labels = []
        @rows = []
        @names = {}
        add(topology.nodes)
      end

      # @param topology [Topology] another one
      # @return [Boolean] whether there was room for all nodes
      # @raise [ResolveError]
      def add(nodes)
        added = @grows ? nodes.uniq(&:to_s).reject { |node| @labels.include?(node.to_s) } : nodes
        return false if @labels.size + added.size > room

        rows = added.map { |node| [@access.address(node).to_sockaddr, node.to_s, @access.name_of(node), @fence&.call(node.to_s)] }
        @labels.concat(added.map(&:to_s))
        @rows.concat(rows)
        true
      end

      # @param topology [Topology] of added nodes
      # @return [Array] for the data plane's start or change: nodes, placement, plan
      def plan(topology)
        masters = topology.masters.each_index.map { |index| number(topology.masters[index], index) }
        masters.zip(topology.masters) { |master, node| @names[master] = node.name }
        [@rows.dup, topology.placement.native(masters), numbers_of(topology, masters)]
      end

      def number(node, index = nil) = @grows ? @labels.index(node.to_s) : index || @labels.index(node.to_s)

      private

      # Masters, the master of each node, the replicas among the nodes, a checksum of the masters, and whether there are places
      # without an owner.
      def numbers_of(topology, masters)
        replicas = masters.zip(topology.replicas).flat_map { |master, own| own.map { |node| [number(node), master] } }.to_h
        alone = [*masters, *topology.others.map { |node| number(node) }]
        owners = { **followed(topology, masters), **replicas, **alone.to_h { |node| [node, node] } }
        all = @labels.each_index
        [masters.pack("L*"), all.map { |node| owners.fetch(node, NONE) }.pack("L*"),
         all.map { |node| replicas.key?(node) ? 1 : 0 }.pack("C*"), generation(masters), topology.partial?]
      end

      # Former masters, with the masters that have their names now: these get the requests that the former ones refuse.
      def followed(topology, masters)
        bearers = topology.masters.map(&:name).zip(masters).to_h
        @names.transform_values { |name| bearers[name] }.compact
      end

      def generation(masters) = Zlib.crc32(masters.map { |master| "#{master} #{@labels[master]}" }.join(",")) & 0xff
    end
    private_constant :Topology, :Sources, :NodeNumbers
  end
end
