# frozen_string_literal: true

require_relative "../../../plait/lib/plait/suites/common/programs"
require_relative "generator"

module Bench
  module Server
    # wrk, the load generator.
    module Wrk
      PROGRAM = Plait::Suites::Programs.find("wrk")
      MILLISECONDS = { "us" => 1e-3, "ms" => 1.0, "s" => 1e3, "m" => 6e4 }.freeze

      # What it has seen.
      Report = Struct.new(:requests, :p99, :errors)

      module_function

      # @param port [Integer]
      # @param connections [Integer]
      # @param seconds [Integer]
      # @param fields [Array<String>] of each request, besides Host
      # @param close [Boolean] a connection for each request
      # @param tls [Boolean] it trusts any certificate
      # @return [Report]
      def load(port, connections, seconds, fields: [], close: false, tls: false)
        fields += ["Connection: close"] if close
        command = [PROGRAM, "-t1", "-c#{connections}", "-d#{seconds}", "--latency", "--timeout", "30",
                   *fields.flat_map { |field| ["-H", field] }, "#{tls ? "https" : "http"}://127.0.0.1:#{port}/"]
        output = Generator.run(command, seconds)
        Report.new(Integer(output[/(\d+) requests in/, 1]), p99(output), errors(output))
      end

      def p99(output)
        number, unit = output.match(/99%\s+([\d.]+)(us|ms|s|m)\s*$/)&.captures
        raise "wrk has seen no answer" unless number

        Float(number) * MILLISECONDS.fetch(unit)
      end

      def errors(output)
        output[/Non-2xx or 3xx responses: (\d+)/, 1].to_i + output[/Socket errors: (.*)/, 1].to_s.scan(/\d+/).sum(&:to_i)
      end
      private_class_method :p99, :errors
    end
  end
end
