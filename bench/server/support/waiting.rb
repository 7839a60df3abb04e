# frozen_string_literal: true

require_relative "contest"

module Bench
  module Server
    # An app that waits for 3 ms, beside servers with 64 threads.
    module Waiting
      module_function

      # @param bench [Harness::Definition] with the size `connections`
      # @return [void]
      def compete(bench)
        bench.size :seconds, full: 2, quick: 1
        contest = Contest.new(bench, app: "waiting")
        bench.goal metric: "cpu_us_per_request", against: "puma, 64 threads", at_most: 0.15
        bench.goal metric: "requests_per_s", against: "puma, 64 threads", at_least: 3
        contest.plait :fibers
        %i[threads hybrid].each { |mechanism| contest.also mechanism }
        %w[puma iodine].each { |peer| contest.peer peer, 64, row: "#{peer}, 64 threads" }
        contest.peer "itsi", 64, row: "itsi, 64 threads", gem: "itsi-server"
        contest.peer "falcon", 1
      end
    end
  end
end
