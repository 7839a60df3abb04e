# frozen_string_literal: true

require "digest"

module Plait
  module Shard
    class Placement
      # The table from which a hash is led to a node: an Array of [value, index of the node].
      module Tables
        SLOTS = 16_384
        POINTS_PER_NODE = 160
        # Of one MD5.
        POINTS_PER_DIGEST = 4

        module_function

        # Each node as often as it weighs; found by the hash modulo the size.
        def modula(nodes) = nodes.each_with_index.flat_map { |node, index| [[0, index]] * node.weight }

        # A ring: points whose number goes with the weight, from the names. In 32-bit floats, as twemproxy counts them.
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
