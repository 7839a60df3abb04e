# frozen_string_literal: true

require_relative "../native"

module Plait
  module Shard
    # The figures of a {Proxy}, as Prometheus reads them and as `plait shard status` does.
    # @api private
    class Metrics
      TOTALS = {
        accepted: "Connections of clients that were accepted.", commands: "Commands of clients.",
        errors: "Errors that the proxy itself has answered with.", bytes_in: "Bytes from clients.",
        bytes_out: "Bytes to clients."
      }.freeze

      # @param figures [Hash{Symbol => Integer}] {Proxy#figures}
      # @param commands [Hash{String => Array}] of the data plane
      # @param nodes [Array<Hash>] {Proxy#nodes}
      # @param slow [Array<Hash>] {Proxy#slow}
      def initialize(figures:, commands:, nodes:, slow:)
        @figures = figures
        @commands = commands
        @nodes = nodes
        @slow = slow
      end

      # @return [String] in the text format of Prometheus, version 0.0.4
      def to_prometheus
        [*gauge("clients", "Clients that are connected.", @figures[:clients]),
         *TOTALS.flat_map { |name, help| counter("#{name}_total", help, @figures[name]) },
         *of_nodes, *of_commands, ""].join("\n")
      end

      # @return [Hash{Symbol => Object}] for JSON
      def to_h
        { figures: @figures, nodes: @nodes, slow: @slow,
          commands: @commands.to_h { |name, (count, seconds, buckets)| [name, summary(count, seconds, buckets)] } }
      end

      private

      def gauge(name, help, value) = [*heading(name, "gauge", help), "plait_shard_#{name} #{value}"]

      def counter(name, help, value) = [*heading(name, "counter", help), "plait_shard_#{name} #{value}"]

      def heading(name, type, help) = ["# HELP plait_shard_#{name} #{help}", "# TYPE plait_shard_#{name} #{type}"]

      def of_nodes
        [[:up, "node_up", "gauge", "Whether the node answers."],
         [:requests, "node_requests_total", "counter", "Requests to the node."],
         [:failures, "node_failures_total", "counter", "Connections to the node that failed."]]
          .flat_map do |key, name, type, help|
            heading(name, type, help) +
              @nodes.map { |node| "plait_shard_#{name}{node=\"#{node[:address]}\"} #{number(node[key])}" }
          end
      end

      def number(value) = { true => 1, false => 0 }.fetch(value, value)

      def of_commands
        heading("command_received_total", "counter", "Commands of clients, by name.") +
          @commands.map { |name, (count, _, _)| "plait_shard_command_received_total{command=\"#{name}\"} #{count}" } +
          heading("command_duration_seconds", "histogram", "Until all of a command's answer had come from nodes.") +
          @commands.flat_map { |name, (_, seconds, buckets)| histogram(name, seconds, buckets) }
      end

      def histogram(name, seconds, buckets)
        sum = 0
        lines = [*NativeShard::Plane::BOUNDS, "+Inf"].zip(buckets).map do |bound, count|
          "plait_shard_command_duration_seconds_bucket{command=\"#{name}\",le=\"#{bound}\"} #{sum += count}"
        end
        lines << "plait_shard_command_duration_seconds_sum{command=\"#{name}\"} #{seconds}"
        lines << "plait_shard_command_duration_seconds_count{command=\"#{name}\"} #{sum}"
      end

      # The 99th percentile is the upper end of its bucket; nil: beyond the last.
      def summary(count, seconds, buckets)
        answered = buckets.sum
        sum = 0
        at = buckets.index { |bucket| (sum += bucket) >= answered * 0.99 }
        { count: count, mean: answered.zero? ? 0.0 : seconds / answered,
          p99: answered.zero? ? 0.0 : NativeShard::Plane::BOUNDS[at] }
      end
    end
  end
end
