# frozen_string_literal: true

require "open3"
require_relative "../../server/support/ab"
require_relative "../../server/support/wrk"

module Bench
  module Databases
    # `ab -k -c 10000 -n 10000`, until the last request is answered: a connection that shares a pool with thousands of others has
    # no answer for seconds, and then all of them.
    module Classic
      # Seconds for one answer: a slow machine is slow, but nothing has failed.
      PATIENCE = 120
      private_constant :PATIENCE

      module_function

      # @return [Array(Server::Wrk::Report, Float)] the report, and seconds
      def load(port, connections, requests)
        raise "ab is needed: sudo apt-get install -y apache2-utils" unless Server::Ab::PROGRAM

        output, status = Open3.capture2e(Server::Ab::PROGRAM, "-k", "-c", connections.to_s, "-n", requests.to_s, "-l", "-q", "-r",
                                         "-s", PATIENCE.to_s, "http://127.0.0.1:#{port}/")
        raise "ab gave up: #{output.lines.last(3).join.strip}" unless status.success?

        [Server::Ab.report(output), output[/Time taken for tests:\s+([\d.]+)/, 1].to_f]
      end
    end
  end
end
