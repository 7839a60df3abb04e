# frozen_string_literal: true

require_relative "../harness/definition"
require_relative "support/echo"

[100, 10_000].each do |connections|
  Bench::Harness.define("echo-#{connections}") do |bench|
    metric = Bench::Harness::Metric
    bench.title "an echo server, #{connections} connections with one message of 64 bytes under way on each, driven by C"
    bench.sizes connections: [connections, [connections, 2_000].min], round_trips: [200_000, 40_000]
    bench.metrics metric.cpu("round_trip"), metric.wall("round_trip"), metric.figure("p99_ms", unit: "ms"),
                  metric.figure("kb_per_connection", unit: "kB")
    bench.goal metric: "cpu_us_per_round_trip", against: "async", at_most: 0.8
    bench.goal metric: "cpu_us_per_round_trip", against: "C, epoll", at_most: 2

    bench.plait do |trial|
      echo = Bench::Core::Echo.new(trial)
      Plait.run(on: :fibers) do |scope|
        scope.async { echo.accept { |connection| scope.async { Bench::Core::Echo.serve(connection) } } }
        echo.drive
        trial.finish
      end
    end

    bench.peer("async", gems: %w[async]) do |trial|
      require_relative "support/async_peer"
      echo = Bench::Core::Echo.new(trial)
      Async do |parent|
        parent.async do |acceptor|
          echo.accept { |connection| acceptor.async { Bench::Core::Echo.serve(connection) } }
        end
        echo.drive
        trial.finish
      end
    end

    bench.peer("threads") do |trial|
      echo = Bench::Core::Echo.new(trial)
      Thread.new { echo.accept { |connection| Thread.new { Bench::Core::Echo.serve(connection) } } }
      echo.drive
    end

    bench.floor("C, epoll") do |trial|
      server = Bench::Core::Echo.program("floor", "echo")
      client = Bench::Core::Echo.program("echo_client", server.line, trial[:connections], trial[:round_trips])
      client.line
      server.go
      before = server.figures["cpu"]
      client.go
      told = client.figures
      server.go
      Bench::Core::Echo.report(trial, told, server.figures["cpu"] - before)
    end
  end
end
