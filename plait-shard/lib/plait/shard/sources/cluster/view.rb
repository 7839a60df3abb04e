# frozen_string_literal: true

require "plait/values/errors"
require_relative "../../node"
require_relative "../../placement"
require_relative "../../topology"

module Plait
  module Shard
    module Sources
      class Cluster
        # What one node says of its cluster: CLUSTER SLOTS, for the slots by the addresses that clients are to use, and CLUSTER
        # NODES, for the nodes that have no slots yet, to which the first ones may be on their way.
        class View
          SLOTS = 16_384
          # In a line of CLUSTER NODES: "id ip:port@port,hostname flags master ping pong epoch state slot …".
          Line = Struct.new(:id, :address, :flags, :master, :ping, :pong, :epoch, :state)
          # Flags of nodes that are nobody's to be asked.
          GONE = %w[fail fail? handshake noaddr slave].freeze
          private_constant :Line, :GONE

          # @return [Integer] the highest that it has heard of
          attr_reader :epoch

          # @param slots [Array] from, to, and nodes as [host, port, id, …], the master first
          # @param nodes [String]
          # @param host [String] of the node that says so, for those that it names without one
          def initialize(slots, nodes, host)
            @slots = slots
            @lines = nodes.lines.map { |line| Line.new(*line.split.first(Line.members.size)) }
            @host = host
            @epoch = @lines.map { |line| line.epoch.to_i }.max || 0
          end

          # @return [Integer] slots of which it knows who has them
          def covered = @slots.sum { |from, to,| to - from + 1 }

          # @param former [Topology, nil] who had the slots that nobody has now
          # @return [Topology]
          # @raise [ConnectError] no slot belongs to anybody
          def topology(former)
            masters = @slots.map { |_, _, master| node_of(master) }.uniq(&:to_s).sort_by(&:to_s)
            raise ConnectError.new("the cluster has no slots yet", endpoint: "tcp://#{@host}") if masters.empty?

            placement = Placement.new(masters, rule: :cluster, slots: owners(masters, former))
            Topology.new(placement, replicas: replicas_of(masters), others: without_slots(masters),
                                    partial: covered < SLOTS)
          end

          private

          def node_of((host, port)) = Node.new(host.nil? || host.empty? || host == "?" ? @host : host, port)

          # A slot of nobody stays where it was: the node itself says that nobody has it.
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

          # By its hostname, where clients are told those of the others.
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
