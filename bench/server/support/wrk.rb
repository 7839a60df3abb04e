# frozen_string_literal: true

require "tempfile"
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
      # @param hosts [Array<String>] of the requests, in turns
      # @return [Report]
      def load(port, connections, seconds, fields: [], close: false, tls: false, hosts: [])
        fields += ["Connection: close"] if close
        command = [PROGRAM, "-t1", "-c#{connections}", "-d#{seconds}", "--latency", "--timeout", "30",
                   *fields.flat_map { |field| ["-H", field] }]
        command.push("-s", script(hosts)) if hosts.any?
        output = Generator.run([*command, "#{tls ? "https" : "http"}://127.0.0.1:#{port}/"], seconds)
        Report.new(Integer(output[/(\d+) requests in/, 1]), p99(output), errors(output))
      end

      # @return [String] the path of a program in Lua
      def script(hosts)
        @script = Tempfile.new("plait-bench-")
        @script.write(<<~LUA)
          local requests, count = {}, 0
          function init()
            for _, host in ipairs({ #{hosts.map(&:inspect).join(", ")} }) do
              table.insert(requests, wrk.format("GET", "/", { Host = host }))
            end
          end
          function request()
            count = count + 1
            return requests[count % #requests + 1]
          end
        LUA
        @script.tap(&:flush).path
      end

      def p99(output)
        number, unit = output.match(/99%\s+([\d.]+)(us|ms|s|m)\s*$/)&.captures
        raise "wrk has seen no answer" unless number

        Float(number) * MILLISECONDS.fetch(unit)
      end

      def errors(output)
        output[/Non-2xx or 3xx responses: (\d+)/, 1].to_i + output[/Socket errors: (.*)/, 1].to_s.scan(/\d+/).sum(&:to_i)
      end
      private_class_method :script, :p99, :errors
    end
  end
end
