# frozen_string_literal: true

require_relative "../values/deadline"
require_relative "agreement"
require_relative "fresh_process"
require_relative "measurement"
require_relative "meters"
require_relative "text"

module Plait
  module Lab
    # Measures one cell once, in a fresh process.
    class Trial
      # The clock is started last and stopped first: it must not measure the other meters.
      METERS = [Meters::Gvl, Meters::Garbage, Meters::Cpu].freeze
      NO_PEAK = { peak: nil, peak_source: nil }.freeze
      private_constant :METERS, :NO_PEAK

      # @param warmup [Integer] passes before the one that counts
      # @param bound [Numeric] seconds after which it counts as hung
      def initialize(cell, warmup: 1, bound: 120.0)
        @cell = cell
        @warmup = warmup
        @bound = bound
      end

      # @return [Measurement] with its `failure` set when the body raises, or its process dies or hangs
      # @raise [FreshProcess::ForkRefused] when the system gives no process
      def run
        measurement = process.call { |ready| measure(ready) }
        sampler&.figures&.each { |name, value| measurement[name] = value }
        measurement
      rescue FreshProcess::Failed => e
        Measurement.failed(@cell.label, e.message, e.kind)
      end

      private

      def process = (FreshProcess.supported? ? FreshProcess : InProcess).new(bound: @bound, sampler: sampler)

      def sampler
        @sampler ||= Meters::TreeMemory.new if @cell.processes? && FreshProcess.supported? && Meters::TreeMemory.supported?
      end

      def measure(ready)
        ready.call
        memory = Meters::Memory.new.tap(&:start)
        @cell.warm_up(@warmup)
        GC.start
        outcomes, began, figures = metered { @cell.run }
        figures.merge!(peak(memory))
        figures[:gvl_wait] = nil if @cell.processes? # this process alone was looked at
        Measurement.new(label: @cell.label, engine: RUBY_ENGINE, items: @cell.items.size, **figures, **described(outcomes, began))
      end

      # This process's own peak says little when others do the work, or when what ran before has left its heap.
      def peak(memory) = @cell.processes? || !FreshProcess.supported? ? NO_PEAK : memory.stop

      def metered
        meters = METERS.map(&:new)
        meters.each(&:start)
        began = Deadline.now
        outcomes = yield
        [outcomes, began, meters.reverse.map(&:stop).reduce(:merge)]
      end

      def described(outcomes, began)
        failed = outcomes.select(&:error)
        { latencies: Meters::Latency.of(outcomes), timeline: Meters::Timeline.of(outcomes, began),
          errors: failed.size, first_error: failed.first&.then { |outcome| sentence(outcome) },
          results: ResultDigest.new(outcomes, @cell.digest) }
      end

      def sentence(outcome) = "item #{outcome.index}: #{Text.of_error(outcome.error)}"
    end

    private_constant :Trial
  end
end
