# frozen_string_literal: true

require "open3"
require_relative "contest"
require_relative "crowd"

module Bench
  module Server
    # What the kernel of the server's machine says of a server's sockets: a load generator knows what it was answered, and not
    # whom the server never saw.
    module Sockets
      module_function

      # Bytes that went out on each established connection of the server; 0 for a connection that still waits in the backlog.
      # @param port [Integer] of the server
      # @return [Array<Integer>]
      def sent(port) = ask("-tinOH", "state", "established", "sport = :#{port}").map { |line| line[/bytes_sent:(\d+)/, 1].to_i }

      # Connections that the kernel has turned away from the listening socket since it was opened, because its queue was full.
      # (ListenOverflows of /proc/net/netstat is the sum of all on the machine.)
      # @param port [Integer] of the server
      # @return [Integer]
      def turned_away(port) = ask("-tlnmOH", "sport = :#{port}").sum { |line| line[/skmem:\([^)]*\bd(\d+)\)/, 1].to_i }

      def ask(*arguments)
        output, status = Open3.capture2("ss", *arguments)
        raise "ss(8) failed: it is in the package iproute2" unless status.success?

        output.lines
      end
      private_class_method :ask
    end

    # Who serves each of thousands of connections, and all of them alike: from the first of them on, since what counts is
    # whether a server keeps up with those who come. The case has the sizes `connections`, `requests` and `seconds`.
    class CrowdContest < Contest
      # Connections on which the server has said something, by the kernel's count; and what it has turned away.
      SERVED = Harness::Metric.figure("connections_served", unit: "connections", lower_is_better: false)
      TURNED_AWAY = Harness::Metric.figure("listen_overflows", unit: "connections")
      # Answers on the connection with the most of them over those on the one with the least.
      UNFAIRNESS = Harness::Metric.figure("most_to_least", unit: "times")

      # @param bench [Harness::Definition]
      # @param ramp [Numeric] seconds over which they come
      def initialize(bench, ramp: 0)
        super(bench)
        @ramp = ramp
        bench.goal metric: "connections_served", at_least: bench[:connections]
        bench.goal metric: "listen_overflows", at_most: 0
        bench.goal metric: "errors", at_most: 0
        bench.goal metric: "most_to_least", at_most: 1.5
      end

      private

      def metrics = [SERVED, TURNED_AWAY, ERRORS, UNFAIRNESS, RATE, P99]

      # Nobody was there before the crowd.
      def warm_up(served, _trial) = served.settle

      def compete(served, trial)
        sizes = { connections: trial[:connections], requests: trial[:requests], seconds: trial[:seconds] }
        Crowd.gather(served.port, ramp: @ramp, **sizes) do |report|
          check(served)
          { operations: [report.requests, 1].max, figures: figures(report, served.port) }
        end
      end

      def figures(report, port)
        { "connections_served" => Sockets.sent(port).count(&:positive?), "listen_overflows" => Sockets.turned_away(port),
          "errors" => report.errors, **rates(report) }
      end

      # Not all have come: there is nothing to compare.
      def rates(report)
        return {} if report.requests.zero?

        { "most_to_least" => report.most.to_f / [report.least, 1].max, "requests_per_s" => report.requests / report.seconds,
          "p99_ms" => report.p99_ms }
      end
    end
  end
end
