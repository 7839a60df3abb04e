# frozen_string_literal: true

require "plait/values/errors"
require_relative "../node"
require_relative "../node_connection"
require_relative "../placement"
require_relative "../topology"
require_relative "cluster/view"

module Plait
  module Shard
    module Sources
      # A Redis Cluster or Valkey Cluster: its nodes say which slots each has. They don't learn of a change at the same moment;
      # the word of the highest epoch counts.
      class Cluster
        # Who are asked.
        WITNESSES = 3

        # @param seeds [Array<String>] "HOST:PORT" of some of the nodes
        # @param access [NodeAccess]
        # @raise [UsageError]
        def initialize(seeds, access)
          raise UsageError, "cluster: is a list of nodes, HOST:PORT, at least one" unless seeds.is_a?(Array) && seeds.any?

          @seeds = seeds.map { |seed| Node.parse(seed) }
          @access = access
        end

        # (see Fixed#watched?)
        def watched? = true

        # (see Fixed#cluster?)
        def cluster? = true

        # @param former [Topology, nil] the last one
        # @param doubted [Boolean] whether a node has said that it is out of date
        # @return [Topology] the former one, if nothing has changed
        # @raise [ConnectionError, RemoteError, TimeoutError] no node can say
        def read(former = nil, doubted: false)
          found = newest(ask(former)).map { |view| view.topology(former) }
          return found.first unless former

          other = found.find { |topology| !topology.same_as?(former) } if doubted || !found.first.same_as?(former)
          other || former
        end

        private

        # Those of the highest epoch, who knows the most slots first.
        def newest(views)
          epoch = views.map(&:epoch).max
          views.select { |view| view.epoch == epoch }.sort_by { |view| -view.covered }
        end

        # Those that answer, and no more than are needed.
        def ask(former)
          views = []
          refusal = nil
          candidates(former).each do |node|
            views << view_of(node)
            break if views.size == WITNESSES
          rescue ConnectionError, RemoteError, TimeoutError => e
            refusal ||= e
          end
          raise refusal if views.empty?

          views
        end

        def candidates(former) = [*former&.nodes&.shuffle, *@seeds].uniq(&:to_s)

        def view_of(node)
          told = NodeConnection.open(node, @access) { |connection| connection.pipeline([%w[CLUSTER SLOTS], %w[CLUSTER NODES]]) }
          View.new(*told, node.host)
        end
      end
    end
  end
end
