# frozen_string_literal: true

require_relative "metrics/exposition"
require_relative "metrics/kernel"
require "plait/protocols/prometheus"

module Plait
  class Server
    # What a server and its workers have counted, as Prometheus reads it: a Rack app for GET /metrics.
    class Metrics
      # @param kernel [Kernel]
      # @yieldreturn [Hash] as {Workers#report}
      def initialize(kernel = Kernel.new, &report)
        @kernel = kernel
        @report = report
      end

      # @param env [Hash]
      # @return [Array(Integer, Hash, Array<String>)]
      def call(env)
        return [404, { "content-type" => "text/plain" }, ["there is only /metrics\n"]] unless env["PATH_INFO"] == "/metrics"

        [200, { "content-type" => Protocols::Prometheus::CONTENT_TYPE }, [text]]
      end

      # @return [String]
      def text = Exposition.new(@report.call, @kernel.figures).text
    end
  end
end
