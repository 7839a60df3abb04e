# frozen_string_literal: true

require "tempfile"
require_relative "../../../plait/lib/plait/suites/common/programs"
require_relative "generator"
require_relative "wrk"

module Bench
  module Server
    # h2load(1), the load generator of nghttp2: HTTP/2 by TLS.
    module H2load
      PROGRAM = Plait::Suites::Programs.find("h2load")
      private_constant :PROGRAM

      module_function

      # @param port [Integer]
      # @param connections [Integer]
      # @param seconds [Integer]
      # @param streams [Integer] requests at once on each connection
      # @param fields [Array<String>] of each request
      # @return [Wrk::Report]
      def load(port, connections, seconds, streams:, fields: [], **)
        raise "h2load is needed: sudo apt-get install -y nghttp2-client" unless PROGRAM

        Tempfile.create("plait-bench-") do |log|
          options = ["-c", connections.to_s, "-m", streams.to_s, "-D", seconds.to_s, "--log-file", log.path,
                     *fields.flat_map { |field| ["-H", field] }]
          output = Generator.run([PROGRAM, *options, "https://127.0.0.1:#{port}/"], seconds)
          raise "the server does not speak HTTP/2" unless output.include?("Application protocol: h2\n")

          report(output, log.each_line.map { |line| line.split("\t")[2].to_f / 1e3 })
        end
      end

      # @param output [String] of h2load
      # @param times [Array<Float>] milliseconds of each answer
      # @return [Wrk::Report]
      def report(output, times)
        done, good = output.match(/, (\d+) done, (\d+) succeeded/).captures.map(&:to_i)
        Wrk::Report.new(done, times.sort[times.size * 99 / 100], done - good)
      end
      private_class_method :report
    end
  end
end
