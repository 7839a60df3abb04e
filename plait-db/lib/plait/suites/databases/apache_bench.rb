# frozen_string_literal: true

require "open3"
require "tempfile"
require "plait/suites/common/suite"
require "plait/values/errors"

module Plait
  module Suites
    class Databases < Suite
      # `ab`, the load generator of the classic experiment.
      class ApacheBench
        # What it has found: requests that were answered, those that failed, seconds in all, and milliseconds by percent.
        Report = Struct.new(:complete, :failed, :seconds, :percentiles, keyword_init: true)
        # Seconds for one answer: a slow machine is slow, but nothing has failed.
        PATIENCE = 120
        private_constant :PATIENCE

        # @return [String, nil] its path
        def self.program
          ENV.fetch("PATH", "").split(":").map { |folder| File.join(folder, "ab") }.find { |file| File.executable?(file) }
        end

        # @raise [UnsupportedError]
        def self.check
          return if program

          raise UnsupportedError, "the suite databases loads its server with ab: install apache2-utils (Debian), " \
                                  "httpd-tools (Fedora) or httpd (Homebrew)"
        end

        # @param url [String]
        # @param connections [Integer] at once
        # @param requests [Integer] in all
        # @param kept [Boolean] whether a connection is used for more than one request
        # @return [Report]
        # @raise [Error] when it gave up
        def load(url, connections:, requests:, kept:)
          Tempfile.create("plait-ab") do |file|
            output, status = Open3.capture2e(self.class.program, "-c", connections.to_s, "-n", requests.to_s, "-l", "-q", "-r",
                                             "-s", PATIENCE.to_s, "-e", file.path, *("-k" if kept), url)
            raise Error, "ab gave up: #{output.lines.last(3).join.strip}" unless status.success?

            report(output, file.read)
          end
        end

        private

        # The last request of all is in the printed table alone.
        def report(output, csv)
          percentiles = csv.lines.drop(1).to_h { |line| line.split(",").then { |percent, ms| [percent.to_i, ms.to_f] } }
          percentiles[100] = output[/100%\s+(\d+)/, 1].to_f
          Report.new(complete: number(output, "Complete requests"), seconds: output[/Time taken for tests:\s+([\d.]+)/, 1].to_f,
                     failed: number(output, "Failed requests") + number(output, "Non-2xx responses"), percentiles: percentiles)
        end

        def number(output, name) = output[/#{name}:\s+(\d+)/, 1].to_i
      end
    end
  end
end
