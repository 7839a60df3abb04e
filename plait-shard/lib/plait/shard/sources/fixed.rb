# frozen_string_literal: true

require "plait/values/errors"
require_relative "../placement"
require_relative "../topology"

module Plait
  module Shard
    # Where a {Topology} comes from.
    # @api private
    module Sources
      # The nodes of the settings, which stay as they are.
      class Fixed
        # @param nodes [Array<String, Hash, Node>]
        # @param rule [Hash] as for {Placement}
        # @raise [UsageError]
        def initialize(nodes, rule)
          @topology = Topology.new(Placement.new(nodes, **rule))
          check
        end

        # @return [Boolean] whether it may change
        def watched? = false

        # @return [Boolean] whether its nodes are those of a cluster
        def cluster? = false

        # @return [Topology]
        def read(*) = @topology

        private

        # Its keys would be counted twice, and listed.
        def check
          twice, = @topology.nodes.map(&:to_s).tally.find { |_, count| count > 1 }
          raise UsageError, "the node #{twice} is named twice; a weight gives it more keys: #{twice}:2" if twice
        end
      end
    end
  end
end
