# frozen_string_literal: true

module Support
  module House
    # Circles in a graph, found by following every arrow once.
    class Circles
      # @param graph [Hash{String => Array<String>}]
      # @return [Array<Array<String>>] each circle once, from its smallest name back to it
      def self.in(graph) = new(graph).find

      def initialize(graph)
        @graph = graph
        @found = []
        @done = {}
      end

      def find
        @graph.each_key { |node| follow(node, []) }
        @found.map { |circle| circle.rotate(circle.index(circle.min)) }.uniq.map { |circle| [*circle, circle.first] }
      end

      private

      def follow(node, trail)
        return @found << trail.drop_while { |step| step != node } if trail.include?(node)
        return if @done[node] || !@graph.key?(node)

        @graph[node].each { |other| follow(other, trail + [node]) }
        @done[node] = true
      end
    end
  end
end
