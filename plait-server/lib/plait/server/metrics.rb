# frozen_string_literal: true

# The first: the files below open Plait::Server, which would load it in the middle of them.
require_relative "../server"
require_relative "place"
require_relative "watch"
require "plait/protocols/prometheus"

module Plait
  class Server
    # What a server and its workers have counted, as Prometheus reads it: a Rack app for GET /metrics.
    class Metrics
      # @yieldreturn [Hash] as {Io::Workers#report}
      def initialize(kernel = Kernel.new, &report)
        @kernel = kernel
        @report = report
      end

      # @return [Array(Integer, Hash, Array<String>)]
      def call(env)
        return [404, { "content-type" => "text/plain" }, ["there is only /metrics\n"]] unless env["PATH_INFO"] == "/metrics"

        [200, { "content-type" => Protocols::Prometheus::CONTENT_TYPE }, [text]]
      end

      def text = Exposition.new(@report.call, @kernel.figures).text

      # The metrics of a server, by name.
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
        # What goes up and down, likewise.
        GAUGES = {
          connections: ["plait_connections", "Connections that are open."],
          idle: ["plait_connections_idle", "Connections between two requests."],
          running: ["plait_requests_running", "Requests that the app is answering."],
          waiting: ["plait_requests_waiting", "Complete requests that wait for running ones."],
          memory: ["plait_memory_bytes", "Memory of the workers (RSS), added up."]
        }.freeze
        # What {Kernel} has found, likewise.
        KERNEL = {
          overflows: ["plait_listen_overflows_total", "Connections that found a full queue, on this machine."],
          drops: ["plait_listen_drops_total", "Connections that were dropped before they were accepted, on this machine."]
        }.freeze
        # What a watch has put into buckets, likewise.
        HISTOGRAMS = {
          handling: ["plait_request_seconds", "Seconds from the call of the app to the end of its answer."],
          queueing: ["plait_request_queue_seconds", "Seconds that complete requests have waited for their turn."]
        }.freeze

        # @param report [Hash] as {Io::Workers#report}
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
          @counters.fetch(:responses, {}).sort.to_h { |status, count| [{ code: status, class: "#{status / 100}xx" }, count] }
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

      # What the kernel has counted of connections that no server accepted in time, on the whole machine (or in its container).
      class Kernel
        # In /proc/net/netstat => what it is called here.
        NAMES = { "ListenOverflows" => :overflows, "ListenDrops" => :drops }.freeze

        def initialize(path = "/proc/net/netstat")
          @path = path
        end

        # @return [Hash{Symbol => Integer}] empty where the system doesn't tell
        def figures
          names, values = File.readlines(@path).grep(/\ATcpExt:/).map(&:split)
          return {} unless values

          names.zip(values).filter_map { |name, value| [NAMES[name], value.to_i] if NAMES.key?(name) }.to_h
        rescue SystemCallError
          {}
        end
      end
    end

    # Where {Metrics} can be asked for: a small server beside the app's, which answers also when the app's does not.
    class MetricsEndpoint
      # @param place [String] see {Place}
      # @yieldreturn [Hash] as {Io::Workers#report}
      # @raise [ListenError, UsageError]
      def initialize(place, &report)
        @listener = Place.new(place).open
        @server = Server.new(Metrics.new(&report), on: :threads, limit: 2)
        @server.listen(@listener)
        @thread = @server.start
      end

      # In a fork, which has no part in it.
      def forget = @listener.io.close

      def close
        @server.stop(within: 0)
        @thread.join
      end
    end
    private_constant :MetricsEndpoint
  end
end
