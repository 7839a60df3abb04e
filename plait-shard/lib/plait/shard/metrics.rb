# frozen_string_literal: true

require "json"
require "plait/io/listener"
require "plait/protocols/prometheus"

module Plait
  module Shard
    # The figures of a {Proxy}, in Prometheus' format and as JSON for `plait shard status`.
    class Metrics
      TOTALS = {
        accepted: "Accepted connections of clients.", commands: "Commands of clients.",
        errors: "Errors of the proxy itself.", bytes_in: "Bytes from clients.",
        bytes_out: "Bytes to clients.", clients_cut: "Clients that were closed because too many bytes were kept for them.",
        redirections: "Requests that were sent again, to another node or later."
      }.freeze
      NODES = {
        up: ["plait_shard_node_up", "gauge", "Whether the node answers."],
        requests: ["plait_shard_node_requests_total", "counter", "Requests to the node."],
        failures: ["plait_shard_node_failures_total", "counter", "Connections to the node that failed."]
      }.freeze

      # @param figures [Hash{Symbol => Integer}] {Proxy#figures}
      # @param commands [Hash{String => Array}] of the data plane
      # @param nodes [Array<Hash>] {Proxy#nodes}
      # @param slow [Array<Hash>] {Proxy#slow}
      # @param hot_keys [Array<Hash>] {Proxy#hot_keys}
      def initialize(figures:, commands:, nodes:, slow:, hot_keys:)
        @figures = figures
        @commands = commands
        @nodes = nodes
        @slow = slow
        @hot_keys = hot_keys
      end

      # @return [String] in Prometheus' text format
      def to_prometheus
        text = Protocols::Prometheus.new
        text.gauge("plait_shard_clients", "Connected clients.", @figures[:clients])
        TOTALS.each { |name, help| text.counter("plait_shard_#{name}_total", help, @figures[name]) }
        NODES.each { |key, (name, type, help)| text.family(name, type, help, of_nodes(key)) }
        text.family("plait_shard_hot_key_commands_per_second", "gauge",
                    "Commands a second for the most used keys, by rank.", of_hot_keys)
        commands_into(text).to_s
      end

      # @return [Hash{Symbol => Object}] for JSON
      def to_h
        { figures: @figures, nodes: @nodes, slow: @slow, hot_keys: @hot_keys,
          commands: @commands.to_h { |name, (count, seconds, buckets)| [name, summary(count, seconds, buckets)] } }
      end

      private

      def of_nodes(key) = @nodes.to_h { |node| [{ node: node[:address] }, number(node[key])] }

      # By rank: each name of a key would be a new series, without end.
      def of_hot_keys = @hot_keys.each.with_index(1).to_h { |hot, rank| [{ rank: rank }, hot[:per_second].round(1)] }

      def number(value) = { true => 1, false => 0 }.fetch(value, value)

      def commands_into(text)
        text.family("plait_shard_command_received_total", "counter", "Commands of clients, by name.",
                    by_command { |count, _, _| count })
        text.histogram("plait_shard_command_duration_seconds", "Seconds until a command's whole answer had come from the nodes.",
                       NativeShard::Plane::BOUNDS, by_command { |_, seconds, buckets| [buckets, seconds] })
      end

      def by_command = @commands.to_h { |name, figures| [{ command: name }, yield(figures)] }

      # The 99th percentile is the upper end of its bucket; nil: beyond the last.
      def summary(count, seconds, buckets)
        answered = buckets.sum
        sum = 0
        at = buckets.index { |bucket| (sum += bucket) >= answered * 0.99 }
        { count: count, mean: answered.zero? ? 0.0 : seconds / answered,
          p99: answered.zero? ? 0.0 : NativeShard::Plane::BOUNDS[at] }
      end
    end

    # Serves figures over HTTP: /metrics for Prometheus, /status as JSON. One request a connection, for a few callers every
    # few seconds.
    class MetricsEndpoint
      HEAD_BYTES = 8192
      # Requests at once; later ones wait in the backlog.
      MOST = 32
      # Seconds to receive a request, and to send its answer.
      SECONDS = 5
      TYPES = { "/metrics" => Protocols::Prometheus::CONTENT_TYPE, "/status" => "application/json" }.freeze

      attr_reader :port

      # @param socket [Socket] a listening one
      def initialize(socket, &metrics)
        @listener = Io::Listener.new(socket)
        @metrics = metrics
        @port = @listener.endpoint.port
        @room = Thread::SizedQueue.new(MOST)
        @threads = ThreadGroup.new
        started = Queue.new
        @thread = Thread.new { serve(started) }
        @thread.name = "plait shard metrics"
        started.pop # its wake-up pipe exists, even if descriptors run out later
      end

      # @return [Socket] a copy of the listening one
      def socket = @listener.io.dup

      def close
        @thread.kill.join
        @threads.list.each(&:kill).each(&:join)
        @listener.close
      end

      private

      # Threads inherit their group.
      def serve(started)
        @threads.add(Thread.current)
        @listener.each(before: started.method(:close)) do |client|
          @room << client
          Thread.new { converse(client) }
        end
      ensure
        started.close
      end

      def converse(client)
        stream = @listener.stream(client)
        head = read_head(stream) or return
        method, path = head[/\A[^\r\n]*/].split
        stream.write(response(method, path.to_s[/\A[^?]*/]), deadline: Deadline.after(SECONDS))
      rescue ConnectionError, TimeoutError
        nil # the client is gone, or too slow
      ensure
        stream&.close
        @room.pop
      end

      def read_head(stream)
        deadline = Deadline.after(SECONDS)
        head = stream.buffer
        (stream.fill(deadline: deadline) or return) until head.include?("\r\n\r\n") || head.bytesize > HEAD_BYTES
        head
      end

      def response(method, path)
        return text("405 Method Not Allowed", "GET only\n", "text/plain") unless %w[GET HEAD].include?(method)
        return text("404 Not Found", "there are /metrics and /status\n", "text/plain") unless TYPES.key?(path)

        metrics = @metrics.call
        body = path == "/metrics" ? metrics.to_prometheus : "#{JSON.generate(metrics.to_h)}\n"
        text("200 OK", method == "HEAD" ? "" : body, TYPES[path])
      rescue Error => e
        text("503 Service Unavailable", "#{e.message}\n", "text/plain")
      end

      def text(status, body, type)
        "HTTP/1.1 #{status}\r\nContent-Type: #{type}\r\nContent-Length: #{body.bytesize}\r\nConnection: close\r\n\r\n#{body}"
      end
    end
    private_constant :Metrics, :MetricsEndpoint
  end
end
