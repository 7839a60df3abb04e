# frozen_string_literal: true

require_relative "contest"
require_relative "crowd"

module Bench
  module Server
    # What connections without a request in flight cost: each has been answered once, and is kept. The case has the sizes
    # `connections` and `seconds`.
    class IdleContest < Contest
      GROWTH = Harness::Metric.figure("growth_mb", unit: "MB")
      EACH = Harness::Metric.figure("kb_per_connection", unit: "kB")
      KEPT = Harness::Metric.figure("connections_kept", unit: "connections", lower_is_better: false)
      # Of the load before it: what a server needs to answer at all is not counted.
      FEW = 64

      private

      def metrics = [EACH, GROWTH, KEPT, MEMORY]

      def warm_up(served, _trial)
        Wrk.load(served.port, FEW, 1)
        served.settle
      end

      def compete(served, trial)
        before = served.memory
        Crowd.gather(served.port, connections: trial[:connections], requests: 1, seconds: trial[:seconds]) do |report|
          check(served)
          served.settle
          { operations: trial[:connections], figures: figures(report, trial, served.memory, before) }
        end
      end

      def figures(report, trial, after, before)
        { "kb_per_connection" => (after - before) / 1e3 / trial[:connections], "growth_mb" => (after - before) / 1e6,
          "connections_kept" => report.answered - report.errors, "rss_mb" => after / 1e6 }
      end
    end

    # The same by TLS.
    class IdleTLSContest < IdleContest
      DESCRIPTORS = Harness::Metric.figure("descriptors_per_connection", unit: "descriptors")

      private

      def metrics = [EACH, DESCRIPTORS, MEMORY]

      def warm_up(served, _trial)
        Wrk.load(served.port, FEW, 1, tls: true)
        served.settle
      end

      def compete(served, trial)
        memory, descriptors = served.memory, served.descriptors
        sockets = Array.new(trial[:connections]) { ask(served.port) }
        check(served)
        served.settle
        { operations: sockets.size,
          figures: { "kb_per_connection" => (served.memory - memory) / 1e3 / sockets.size, "rss_mb" => served.memory / 1e6,
                     "descriptors_per_connection" => (served.descriptors - descriptors) / sockets.size.to_f } }
      ensure
        sockets&.each(&:close)
      end

      # @return [OpenSSL::SSL::SSLSocket] that had its answer
      def ask(port)
        socket = OpenSSL::SSL::SSLSocket.new(TCPSocket.new("127.0.0.1", port)).tap { |secure| secure.sync_close = true }
        socket.connect.write("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        raise "no answer" unless socket.gets.to_s.include?(" 200 ")

        socket
      end
    end
  end
end
