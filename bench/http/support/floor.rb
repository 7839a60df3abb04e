# frozen_string_literal: true

require "zlib"
require_relative "../../harness/native"
require_relative "kept"

module Bench
  module HTTP
    # Runs the client in C, which measures itself.
    module Floor
      PROGRAM = Harness::Native.build(File.expand_path("../floor.c", __dir__))
      WARM_UP = 64

      module_function

      # @param trial [Harness::Trial] with the sizes `requests` and `in_flight`
      # @param site [Site]
      # @param pages [Pages]
      # @param figures [Proc] called afterwards
      def report(trial, site, pages, figures)
        targets = pages.targets(trial[:requests])
        told = get(site, trial[:in_flight], targets)
        trial.report(operations: targets.size, **told.slice("wall", "cpu", "memory").transform_keys(&:to_sym),
                     result: verdict(told, pages), figures: figures.call)
      end

      def get(site, connections, targets)
        Harness::Native.measure(PROGRAM, site.port, connections, WARM_UP, stdin_data: "#{targets.join("\n")}\n")
      end

      # The program tells a checksum: right as a whole, or not.
      def verdict(told, pages)
        crc = told["bodies"].times.inject(0) { |sum, index| Zlib.crc32(pages.body(index), sum) }
        Kept.verdict(bodies: told["bodies"], bytes: told["bytes"], wrong: crc == told["crc"] ? 0 : told["bodies"])
      end
      private_class_method :get, :verdict
    end
  end
end
