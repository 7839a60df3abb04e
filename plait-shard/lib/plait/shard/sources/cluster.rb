# frozen_string_literal: true

require_relative "../placement"
require_relative "../topology"

module Plait
  module Shard
    module Sources
      # A Redis Cluster or Valkey Cluster, whose nodes have lists of slots and their owners. Nodes learn of a change at different
      # moments; the list with the highest epoch counts.
      class Cluster
        # Nodes to ask.
        WITNESSES = 3

        # @param seeds [Array<String>] "HOST:PORT" of some of the nodes
        def initialize(seeds, access)
          raise UsageError, "cluster: is a list of nodes, HOST:PORT, at least one" unless seeds.is_a?(Array) && seeds.any?

          @seeds = seeds.map { |seed| Node.parse(seed) }
          @access = access
        end

        def watched? = true

        def cluster? = true

        # @param former [Topology, nil] the last one
        # @param doubted [Boolean] whether a node has refused a request by it
        # @return [Topology] the former one, if nothing has changed
        # @raise [ConnectionError, RemoteError, TimeoutError] no node answers
        def read(former = nil, doubted: false)
          found = newest(ask(former)).map { |view| view.topology(former) }
          return found.first unless former

          other = found.find { |topology| !topology.same_as?(former) } if doubted || !found.first.same_as?(former)
          other || former
        end

        private

        # The views of the highest epoch, the one with the most slots first.
        def newest(views)
          epoch = views.map(&:epoch).max
          views.select { |view| view.epoch == epoch }.sort_by { |view| -view.covered }
        end

        # The views of the first nodes that answer.
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
          lists = NodeConnection.open(node, @access, patience: @access.timeout) do |connection|
            connection.pipeline([%w[CLUSTER SLOTS], %w[CLUSTER NODES]])
          end
          View.new(*lists, node.host)
        end

        # One node's view of its cluster. CLUSTER SLOTS has the slots, with addresses for clients. CLUSTER NODES has nodes without
        # slots, too, to which slots may be on their way.
        class View
          SLOTS = 16_384
          # A line of CLUSTER NODES: "id ip:port@port,hostname flags master ping pong epoch state slot …".
          Line = Struct.new(:id, :address, :flags, :master, :ping, :pong, :epoch, :state)
          # Flags of nodes that can't be asked.
          GONE = %w[fail fail? handshake noaddr slave].freeze

          # @return [Integer] the highest epoch in its lists
          attr_reader :epoch

          # @param slots [Array] from, to, and nodes as [host, port, id, …], the master first
          # @param host [String] of the answering node, for nodes that it lists without a host
          def initialize(slots, nodes, host)
            @slots = slots
            @lines = nodes.lines.map { |line| Line.new(*line.split.first(Line.members.size)) }
            @host = host
            @epoch = @lines.map { |line| line.epoch.to_i }.max || 0
          end

          # @return [Integer] slots with an owner
          def covered = @slots.sum { |from, to,| to - from + 1 }

          # @param former [Topology, nil] the former owners, for slots without one now
          # @raise [ConnectError] no slot has an owner
          def topology(former)
            masters = @slots.map { |_, _, master| node_of(master) }.uniq(&:to_s).sort_by(&:to_s)
            raise ConnectError.new("the cluster has no slots yet", endpoint: "tcp://#{@host}") if masters.empty?

            placement = Placement.new(masters, rule: :cluster, slots: owners(masters, former))
            Topology.new(placement, replicas: replicas_of(masters), others: without_slots(masters),
                                    partial: covered < SLOTS)
          end

          private

          def node_of((host, port)) = Node.new(host.nil? || host.empty? || host == "?" ? @host : host, port)

          # A slot without an owner stays at its former node, which answers with the error.
          def owners(masters, former)
            numbers = masters.each_with_index.to_h { |node, index| [node.to_s, index] }
            owners = Array.new(SLOTS) { |slot| former ? numbers.fetch(former.placement.owner_of(slot).to_s, 0) : 0 }
            @slots.each { |from, to, master| owners.fill(numbers.fetch(node_of(master).to_s), from..to) }
            owners
          end

          def replicas_of(masters)
            by_master = @slots.to_h { |_, _, master, *replicas| [node_of(master).to_s, replicas.map { |node| node_of(node) }] }
            masters.map { |node| by_master.fetch(node.to_s) }
          end

          def without_slots(masters)
            named = @slots.flat_map { |_, _, *nodes| nodes.map { |node| node[2] } }
            ids = @lines.reject { |line| named.include?(line.id) || line.flags.split(",").intersect?(GONE) }
            ids.map { |line| node_of_line(line) }.reject { |node| masters.map(&:to_s).include?(node.to_s) }
          end

          # By its hostname, where the cluster announces hostnames.
          def node_of_line(line)
            address, hostname = line.address.split(",")
            host, _, port = address.split("@").first.rpartition(":")
            names = @slots.none? { |_, _, master| master[0].to_s.match?(/\A[\d.]*\z|:/) }
            node_of([names && hostname ? hostname : host, Integer(port, 10)])
          end
        end
      end
    end
  end
end
