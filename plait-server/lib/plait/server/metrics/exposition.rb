# frozen_string_literal: true

require_relative "../watch/buckets"
require "plait/protocols/prometheus"

module Plait
  class Server
    class Metrics
      # What is told of a server, and by which names.
      class Exposition
        # What a process counts => its name here, and what it is.
        COUNTERS = {
          accepted: ["plait_connections_accepted_total", "Connections that were accepted."],
          requests: ["plait_requests_total", "Complete requests that were taken up."],
          malformed: ["plait_requests_malformed_total", "Requests that broke the protocol."],
          refused: ["plait_requests_refused_total", "Requests answered 503, since too many waited already."],
          expired: ["plait_connections_expired_total", "Connections closed because a time was up."],
          cut: ["plait_requests_cut_total", "Requests that had not ended in time when their worker ended."],
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

        # @return [String] in Prometheus' text format
        def text
          @text = Protocols::Prometheus.new
          numbers(COUNTERS, @counters, "counter")
          numbers(GAUGES, @gauges, "gauge")
          numbers(KERNEL, @kernel, "counter")
          labelled
          HISTOGRAMS.each { |key, (name, words)| histogram(name, words, @counters[key]) }
          @text.to_s
        end

        private

        def numbers(names, figures, type)
          names.each do |key, (name, words)|
            @text.family(name, type, words, { {} => figures[key] }) if figures.key?(key)
          end
        end

        def labelled
          @text.family("plait_responses_total", "counter", "Answers, by their status.", responses)
          @text.family("plait_loop_blocked_total", "counter", "Times that a request has held up the event loop.", blocked)
          @text.family("plait_worker_memory_bytes", "gauge", "Memory of a worker (RSS).", memory)
          @text.gauge("plait_workers", "Processes that serve.", @workers.size)
        end

        def responses
          @counters.fetch(:responses, {}).sort.to_h do |status, count|
            [{ code: status, class: "#{status / 100}xx" }, count]
          end
        end

        def blocked = @counters.fetch(:blocked, {}).transform_keys { |route| { route: route } }

        def memory = @workers.to_h { |worker| [worker.slice(:index, :pid), worker[:memory]] }

        def histogram(name, words, figures)
          return unless figures

          bounds = Watch::Buckets::BOUNDS
          counts = Array.new(bounds.size + 1) { |index| figures.fetch(:counts).fetch(index, 0) }
          @text.histogram(name, words, bounds, { {} => [counts, figures.fetch(:sum)] })
        end
      end
    end
  end
end
