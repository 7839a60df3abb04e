# frozen_string_literal: true

require_relative "../watch/buckets"

module Plait
  class Server
    class Metrics
      # Figures in Prometheus' text format, version 0.0.4.
      class Exposition
        # What a process counts => its name here, and what it is.
        COUNTERS = {
          accepted: ["plait_connections_accepted_total", "Connections that were accepted."],
          requests: ["plait_requests_total", "Complete requests that were taken up."],
          malformed: ["plait_requests_malformed_total", "Requests that broke the protocol."],
          refused: ["plait_requests_refused_total", "Requests answered 503, since too many waited already."],
          expired: ["plait_connections_expired_total", "Connections closed because a time was up."],
          exhausted: ["plait_accept_failures_total", "Times that there was no descriptor for a connection."],
          received: ["plait_request_body_bytes_total", "Bytes of requests' bodies."],
          sent: ["plait_response_body_bytes_total", "Bytes of answers' bodies, where the app has said how many."],
          log_lost: ["plait_access_log_lost_lines_total", "Lines of the access log that could not be written."],
          gvl_wait: ["plait_gvl_wait_seconds_total", "Seconds that requests have waited for Ruby's lock."]
        }.freeze
        GAUGES = {
          connections: ["plait_connections", "Connections that are open."],
          idle: ["plait_connections_idle", "Connections between two requests."],
          running: ["plait_requests_running", "Requests that the app is answering."],
          waiting: ["plait_requests_waiting", "Complete requests that wait for those that run."],
          memory: ["plait_memory_bytes", "Memory of the workers (RSS), added up."]
        }.freeze
        KERNEL = {
          overflows: ["plait_listen_overflows_total", "Connections that found a full queue, on this machine."],
          drops: ["plait_listen_drops_total", "Connections that were dropped before they were accepted, on this machine."]
        }.freeze
        HISTOGRAMS = {
          handling: ["plait_request_seconds", "Seconds from the call of the app to the end of its answer."],
          queueing: ["plait_request_queue_seconds", "Seconds that complete requests have waited for their turn."]
        }.freeze

        # @param report [Hash] as {Workers#report}
        # @param kernel [Hash{Symbol => Integer}]
        def initialize(report, kernel)
          @counters = report.fetch(:counters)
          @gauges = report.fetch(:gauges)
          @workers = report.fetch(:workers)
          @kernel = kernel
        end

        # @return [String]
        def text
          lines = [*numbers(COUNTERS, @counters, "counter"), *numbers(GAUGES, @gauges, "gauge"),
                   *numbers(KERNEL, @kernel, "counter"), *responses, *blocked, *workers, *histograms]
          "#{lines.join("\n")}\n"
        end

        private

        def numbers(names, figures, type)
          names.flat_map do |key, (name, words)|
            figures.key?(key) ? [*head(name, words, type), "#{name} #{figures[key]}"] : []
          end
        end

        def head(name, words, type) = ["# HELP #{name} #{words}", "# TYPE #{name} #{type}"]

        def responses
          rows = @counters.fetch(:responses, {}).sort
          labelled("plait_responses_total", "Answers, by their status.", "counter",
                   rows.map { |status, count| [{ code: status, class: "#{status / 100}xx" }, count] })
        end

        def blocked
          labelled("plait_loop_blocked_total", "Times that a request has held up the event loop.", "counter",
                   @counters.fetch(:blocked, {}).map { |route, count| [{ route: route }, count] })
        end

        def workers
          labelled("plait_worker_memory_bytes", "Memory of a worker (RSS).", "gauge",
                   @workers.map { |worker| [worker.slice(:index, :pid), worker[:memory]] }) +
            ["# HELP plait_workers Processes that serve.", "# TYPE plait_workers gauge", "plait_workers #{@workers.size}"]
        end

        def labelled(name, words, type, rows)
          return [] if rows.empty?

          [*head(name, words, type), *rows.map { |labels, value| "#{name}{#{labels_of(labels)}} #{value}" }]
        end

        def labels_of(labels) = labels.map { |key, value| "#{key}=\"#{escaped(value.to_s)}\"" }.join(",")

        def escaped(text) = text.gsub(/[\\"\n]/) { |byte| byte == "\n" ? "\\n" : "\\#{byte}" }

        def histograms
          HISTOGRAMS.flat_map do |key, (name, words)|
            figures = @counters[key] or next []
            [*head(name, words, "histogram"), *buckets(name, figures.fetch(:counts)), "#{name}_sum #{figures.fetch(:sum)}",
             "#{name}_count #{figures.fetch(:counts).values.sum}"]
          end
        end

        # Each with those below it.
        def buckets(name, counts)
          total = 0
          [*Watch::Buckets::BOUNDS, "+Inf"].each_with_index.map do |bound, index|
            "#{name}_bucket{le=\"#{bound}\"} #{total += counts.fetch(index, 0)}"
          end
        end
      end
    end
  end
end
