# frozen_string_literal: true

require "json"
require "plait/io/listener"
require "plait/protocols/prometheus"
require "plait/values/deadline"
require "plait/values/errors"

module Plait
  module Shard
    # Tells figures over HTTP: /metrics for Prometheus, /status as JSON. One request a connection: it is for a few who ask every
    # few seconds.
    # @api private
    class MetricsEndpoint
      HEAD_BYTES = 8192
      # Requests at once; others wait in the backlog.
      MOST = 32
      # For a request to come, and again for its answer to be taken.
      SECONDS = 5
      TYPES = { "/metrics" => Protocols::Prometheus::CONTENT_TYPE, "/status" => "application/json" }.freeze

      # @return [Integer]
      attr_reader :port

      # @param socket [Socket] that listens
      # @yieldreturn [Metrics]
      def initialize(socket, &metrics)
        @listener = Io::Listener.new(socket)
        @metrics = metrics
        @port = @listener.endpoint.port
        @room = Thread::SizedQueue.new(MOST)
        @threads = ThreadGroup.new
        started = Queue.new
        @thread = Thread.new { serve(started) }
        @thread.name = "plait shard metrics"
        started.pop # what it needs to wait is there, whatever becomes of descriptors
      end

      # @return [Socket] a copy of the one that listens
      def socket = @listener.io.dup

      # @return [void]
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
        nil # the client has gone, or is too slow
      ensure
        stream&.close
        @room.pop
      end

      # @return [String, nil]
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
  end
end
