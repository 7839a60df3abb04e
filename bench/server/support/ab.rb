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

      module_function

      # @param port [Integer]
      # @param connections [Integer]
      # @param seconds [Integer]
      # @param close [Boolean] a connection for each request
      # @return [Wrk::Report]
      def load(port, connections, seconds, close: false, **)
        raise "ab is needed: sudo apt-get install -y apache2-utils" unless PROGRAM

        command = [PROGRAM, "-q", *("-k" unless close), "-c", connections.to_s, "-t", seconds.to_s, "-n", MANY.to_s,
                   "http://127.0.0.1:#{port}/"]
        report(Generator.run(command, seconds))
      end

      # @param output [String] of ab
      # @return [Wrk::Report]
      def report(output)
        Wrk::Report.new(number(output, /Complete requests:\s+(\d+)/), number(output, /\s99%\s+(\d+)/).to_f,
                        number(output, /Failed requests:\s+(\d+)/) + number(output, /Non-2xx responses:\s+(\d+)/))
      end

      def number(output, pattern) = output[pattern, 1].to_i
      private_class_method :number
    end
  end
end
