# frozen_string_literal: true

require "etc"

module Plait
  class Server
    # What one process that serves tells of itself, and is told.
    class Duty
      # Of what a {Shift} counts, what goes up and down.
      GAUGES = %i[connections idle running waiting].freeze
      # Others of its figures are not for the world.
      INTERNAL = %i[workers].freeze
      PAGE = Etc.sysconf(Etc::SC_PAGESIZE)

      # @return [Integer] bytes of memory that this process has; 0 where the system doesn't tell
      def self.memory
        File.read("/proc/self/statm").split[1].to_i * PAGE
      rescue SystemCallError
        0
      end

      # @param shift [Shift]
      # @param index [Integer] whose place among the workers this process has
      # @param watch [Watch, nil]
      def initialize(shift, index, watch)
        @shift = shift
        @index = index
        @watch = watch
        @since = Time.now.to_i
      end

      # @return [Hash] `counters:`, `gauges:` and `workers:`, see {Workers#report}; `standstill:`, see {Standstill#report}
      def report
        statistics = @shift.statistics
        gauges = statistics.slice(*GAUGES).merge(memory: Duty.memory)
        counters = statistics.reject { |name, _| GAUGES.include?(name) || INTERNAL.include?(name) }
        counters.merge!(@watch.counters) if @watch
        { counters: counters, gauges: gauges, workers: [about(gauges, counters)], standstill: @shift.standstill }
      end

      # @return [void]
      def retire(...) = @shift.retire(...)

      # The workers' plan has all that is to be done.
      # @return [void]
      def reopen = nil

      private

      def about(gauges, counters)
        { index: @index, pid: Process.pid, since: @since, requests: counters.fetch(:requests), **gauges }
      end
    end
  end
end
