# frozen_string_literal: true

require_relative "../../server/support/wrk"
require "plait/suites/databases/apache_bench"

module Bench
  module Databases
    # `ab -k -c 10000 -n 10000`, as `plait lab databases` has it: until the last one is answered, because who shares a pool
    # with thousands of others has none of his answers for seconds, and then all of them.
    module Classic
      module_function

      # @return [Array(Server::Wrk::Report, Float)] the report, and seconds
      def load(port, connections, requests)
        found = Plait::Suites::Databases::ApacheBench.new.load("http://127.0.0.1:#{port}/", connections: connections,
                                                                                            requests: requests, kept: true)
        [Server::Wrk::Report.new(found.complete, found.percentiles.fetch(99), found.failed), found.seconds]
      end
    end
  end
end
