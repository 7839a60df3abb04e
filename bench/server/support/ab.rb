# frozen_string_literal: true

require_relative "../../../plait/lib/plait/suites/common/programs"
require_relative "generator"
require_relative "wrk"

module Bench
  module Server
    # ab(1), the load generator of the Apache httpd: HTTP/1.0.
    module Ab
      PROGRAM = Plait::Suites::Programs.find("ab")
      # More than it does in that time, so that the time ends it.
      MANY = 10_000_000
      # Seconds for one answer: a slow machine is slow, but nothing has failed.
      PATIENCE = 120
      private_constant :MANY, :PATIENCE

      module_function

      # @param port [Integer]
      # @param connections [Integer]
      # @param seconds [Integer]
      # @param close [Boolean] a connection for each request
      # @return [Wrk::Report]
      def load(port, connections, seconds, close: false, **)
        report(run(port, connections, seconds, *("-k" unless close), "-t", seconds.to_s, "-n", MANY.to_s))
      end

      # The classic experiment, `ab -k -c 10000 -n 10000`, until the last request is answered: a connection that shares a pool
      # with thousands of others has no answer for seconds, and then all of them.
      # @return [Array(Wrk::Report, Float)] the report, and seconds
      def load_until_answered(port, connections, requests)
        output = run(port, connections, requests, "-k", "-n", requests.to_s, "-l", "-r", "-s", PATIENCE.to_s)
        [report(output), output[/Time taken for tests:\s+([\d.]+)/, 1].to_f]
      end

      # @param seconds [Numeric] at most
      def run(port, connections, seconds, *options)
        raise "ab is needed: sudo apt-get install -y apache2-utils" unless PROGRAM

        Generator.run([PROGRAM, "-q", "-c", connections.to_s, *options, "http://127.0.0.1:#{port}/"], seconds)
      end

      # @param output [String] of ab
      # @return [Wrk::Report]
      def report(output)
        Wrk::Report.new(number(output, /Complete requests:\s+(\d+)/), number(output, /\s99%\s+(\d+)/).to_f,
                        number(output, /Failed requests:\s+(\d+)/) + number(output, /Non-2xx responses:\s+(\d+)/))
      end

      def number(output, pattern) = output[pattern, 1].to_i
      private_class_method :run, :report, :number
    end
  end
end
