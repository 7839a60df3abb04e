# frozen_string_literal: true

require_relative "../placement"
require_relative "../topology"

module Plait
  module Shard
    module Sources
      # Masters by the names under which Sentinels know them; keys are placed by the names' order, or the names.
      class Sentinels
        # Flags of replicas that can't be read from.
        GONE = %w[s_down o_down disconnected].freeze

        # @return [Array<Node>] the Sentinels
        attr_reader :nodes

        # @param sentinels [Array<String>] "HOST:PORT"
        # @param masters [Array<String>] names
        # @param rule [Hash] as for {Placement}
        # @param access [NodeAccess] to the masters
        # @param password [String, nil] of the Sentinels
        def initialize(sentinels, masters, rule, access, password: nil)
          right = [sentinels, masters].all? { |list| list.is_a?(Array) && list.any? }
          raise UsageError, "sentinels: is a list of HOST:PORT, and masters: one of names, each with one at least" unless right

          @nodes = sentinels.map { |sentinel| Node.parse(sentinel) }
          @masters = masters.map(&:to_s)
          @rule = rule
          @access = access
          @own_access = access.with(password: password)
        end

        def watched? = true

        def cluster? = false

        def read(former = nil, **)
          groups = with_sentinel { |sentinel| @masters.map { |name| [name, master(sentinel, name), replicas(sentinel, name)] } }
          masters = groups.map { |name, (host, port), _| still(Node.new(host, Integer(port, 10), name: name), former) }
          placement = Placement.new(masters, **@rule)
          found = Topology.new(placement, replicas: placement.nodes.map { |node| replicas_of(groups, node) })
          former&.same_as?(found) ? former : found
        end

        # Connects to the first Sentinel that answers.
        # @raise [ConnectionError, RemoteError, TimeoutError] no Sentinel answers
        def with_sentinel(&block)
          refusal = nil
          @nodes.each do |node|
            return NodeConnection.open(node, @own_access, patience: @access.timeout, &block)
          rescue ConnectionError, RemoteError, TimeoutError => e
            refusal ||= e
          end
          raise refusal
        end

        private

        def master(sentinel, name)
          sentinel.call("SENTINEL", "get-master-addr-by-name", name) or
            raise UsageError, "the Sentinels know no master called #{name}"
        end

        def replicas(sentinel, name)
          sentinel.call("SENTINEL", "replicas", name).map { |fields| fields.is_a?(Hash) ? fields : Hash[*fields] }
        end

        def replicas_of(groups, node)
          _, _, replicas = groups.find { |name,| name == node.name }
          well = replicas.reject { |fields| fields["flags"].split(",").intersect?(GONE) || fields["master-link-status"] != "ok" }
          well.map { |fields| Node.new(fields["ip"], Integer(fields["port"], 10)) }.reject { |other| other.to_s == node.to_s }
        end

        # A Sentinel may name a node that is not a master any more, or not yet: a new master has to confirm its role.
        def still(node, former)
          before = former&.masters&.find { |other| other.name == node.name }
          return node if before.nil? || before.to_s == node.to_s

          master?(node) ? node : before
        end

        def master?(node)
          NodeConnection.open(node, @access, patience: @access.timeout) { |connection| connection.call("ROLE").first == "master" }
        rescue ConnectionError, RemoteError, TimeoutError
          false
        end
      end
    end
  end
end
