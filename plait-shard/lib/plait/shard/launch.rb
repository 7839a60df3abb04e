# frozen_string_literal: true

require "socket"
require_relative "door"
require_relative "fence"
require_relative "health"
require_relative "node_numbers"
require_relative "node_survey"
require_relative "topology_watch"
require "plait/values/errors"

module Plait
  module Shard
    # A data plane that was started, and what keeps it informed of its nodes.
    # @api private
    class Launch
      # @return [NativeShard::Plane]
      attr_reader :plane

      # @param plane [NativeShard::Plane]
      # @param settings [Settings]
      # @param descriptors [Array<Integer>] of listening sockets
      # @param encrypts [Boolean] whether clients speak TLS there
      # @yield when there are more nodes than it has room for
      # @raise [ConnectionError, RemoteError, TimeoutError] it can't be found out which nodes there are
      # @raise [UsageError] a certificate or a key is of no use, or a node is the proxy itself
      def initialize(plane, settings, descriptors, encrypts:, &outgrown)
        @plane = plane
        @topology = settings.topology
        @numbers = numbers(settings)
        nodes, placement, plan = @numbers.plan(@topology)
        Door.refuse_itself(nodes, descriptors)
        begin_with(plane, nodes, placement, descriptors, settings.native_options(encrypts, room: @numbers.room, plan: plan))
        @watch = TopologyWatch.new(plane, settings.source, @numbers, @topology, &outgrown) if settings.source.watched?
        @survey = NodeSurvey.new(plane, settings.access, lasting: settings.source.watched?) { topology.masters }
      end

      # @return [Topology] as it is now
      def topology = @watch&.topology || @topology

      # Asks each node whether it answers.
      # @param access [NodeAccess]
      # @param counts [Hash{String => (Integer, Integer)}] of each address its requests and failures
      # @return [Array<Hash{Symbol => Object}>] (see Proxy#nodes)
      def nodes(access, counts)
        known = topology.nodes
        known.zip(Health.check(known, access)).map do |node, up|
          requests, failures = counts.fetch(node.to_s, [0, 0])
          { address: node.to_s, up: up, requests: requests, failures: failures }
        end
      end

      # @return [Hash{String => (Integer, Integer)}] of each address the requests and failures that this plane has counted
      def counts = @numbers.labels.zip(@plane.nodes).to_h { |label, own| [label, own || [0, 0]] }

      # The plane goes on as it is.
      # @return [void]
      def close = [@watch, @survey].compact.each(&:close)

      private

      def numbers(settings)
        recorded = Fence.records(settings).each_value.any?(&:there?)
        NodeNumbers.new(@topology, settings.access, grows: settings.source.watched?) do |name|
          Fence.greeting(settings, name, recorded)
        end
      end

      # What is wrong with the files of TLS is found out there.
      def begin_with(plane, *arguments)
        plane.start(*arguments)
      rescue ArgumentError => e
        raise UsageError, e.message
      end
    end
  end
end
