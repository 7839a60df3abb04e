# frozen_string_literal: true

module Plait
  module Shard
    # Which node is what, at a time: the masters with the places of keys among them, the replicas of each, and others that are
    # known to be there.
    # @api private
    class Topology
      # @return [Placement] of the masters
      attr_reader :placement
      # @return [Array<Array<Node>>] for each master, in the order of the placement
      attr_reader :replicas
      # @return [Array<Node>] that have no keys yet
      attr_reader :others
      # @return [Boolean] whether there are places of which it is not known who has them
      attr_reader :partial
      alias partial? partial

      # @param placement [Placement]
      # @param replicas [Array<Array<Node>>]
      # @param others [Array<Node>]
      # @param partial [Boolean]
      def initialize(placement, replicas: placement.nodes.map(&:replicas), others: [], partial: false)
        @placement = placement
        @replicas = replicas
        @others = others
        @partial = partial
        freeze
      end

      # @return [Array<Node>]
      def masters = placement.nodes

      # @return [Array<Node>] masters first
      def nodes = [*masters, *replicas.flatten, *others]

      # @return [Boolean] whether each key is at the same address with both, and so are the replicas
      def same_as?(other)
        partial == other.partial && placement.same_as?(other.placement) && addresses == other.addresses
      end

      protected

      def addresses = [masters.map(&:to_s), replicas.map { |own| own.map(&:to_s).sort }, others.map(&:to_s).sort]
    end
  end
end
