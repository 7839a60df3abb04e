# frozen_string_literal: true

require "io/wait"
require "json"
require "socket"
require_relative "../protocols/prometheus"

module Plait
  module Shard
    # Tells figures over HTTP: /metrics for Prometheus, /status as JSON. One request a connection, one after another: it is for a
    # few who ask every few seconds.
    # @api private
    class MetricsEndpoint
      HEAD_BYTES = 8192
      # For a request to come, and for its answer to be taken.
      SECONDS = 5
      TYPES = { "/metrics" => Protocols::Prometheus::CONTENT_TYPE, "/status" => "application/json" }.freeze

      # @return [Integer]
      attr_reader :port

      # @param socket [Socket] that listens
      # @yieldreturn [Metrics]
      def initialize(socket, &metrics)
        @socket = socket
        @metrics = metrics
        @port = socket.local_address.ip_port
        @thread = Thread.new { serve }
        @thread.name = "plait shard metrics"
      end

      # @return [Socket] a copy of the one that listens
      def socket = @socket.dup

      # @return [void]
      def close
        @thread.kill
        @thread.join
        @socket.close
      end

      private

      def serve
        loop do
          client, = @socket.accept
          answer(client)
        rescue SystemCallError, IOError
          next # whoever it was has gone
        ensure
          client&.close
        end
      end

      def answer(client)
        head = read_head(client) or return
        method, path = head[/\A[^\r\n]*/].split
        client.timeout = SECONDS if client.respond_to?(:timeout=)
        client.write(response(method, path.to_s[/\A[^?]*/]))
      end

      # @return [String, nil]
      def read_head(client)
        ends = now + SECONDS
        head = +""
        until head.include?("\r\n\r\n") || head.bytesize > HEAD_BYTES
          return unless client.wait_readable([ends - now, 0].max)

          head << client.readpartial(HEAD_BYTES)
        end
        head
      end

      def response(method, path)
        return text("405 Method Not Allowed", "GET only\n", "text/plain") unless %w[GET HEAD].include?(method)
        return text("404 Not Found", "there are /metrics and /status\n", "text/plain") unless TYPES.key?(path)

        metrics = @metrics.call
        body = path == "/metrics" ? metrics.to_prometheus : "#{JSON.generate(metrics.to_h)}\n"
        text("200 OK", method == "HEAD" ? "" : body, TYPES[path])
      end

      def text(status, body, type)
        "HTTP/1.1 #{status}\r\nContent-Type: #{type}\r\nContent-Length: #{body.bytesize}\r\nConnection: close\r\n\r\n#{body}"
      end

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
