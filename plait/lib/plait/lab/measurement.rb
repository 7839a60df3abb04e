# frozen_string_literal: true

require_relative "statistics"

module Plait
  module Lab
    # What one trial of one cell found. Plain values only: it travels through a pipe.
    #
    # - `label` of its cell, `engine` of the Ruby that ran it
    # - `items` how many were run
    # - `wall`, `cpu` in seconds; cpu includes the processes that the run started and waited for
    # - `delay` seconds in which the main thread could have run and no processor was free for it
    # - `gc_runs`, `gc_time` (seconds) in the process that ran the mechanism
    # - `objects` allocated there
    # - `latencies` in seconds, ascending; thinned to at most {Meters::Latency::KEPT}
    # - `timeline` a {Meters::Timeline::Record}
    # - `peak` bytes above what the process held when it was forked, nil where it can't be told; `peak_source` :resident
    #   (as the kernel kept it) or :sampled_processes (the sum of several, looked at now and then)
    # - `errors` how many items failed, `first_error` the first of them as a sentence
    # - `own` what only this workload measures: a Hash of numbers by name, or nil
    # - `results` a {ResultDigest}
    # - `failure` why there are no figures, as a sentence; `failure_kind` :failed, :unsupported, :hung or :died
    Measurement = Struct.new(:label, :engine, :items, :wall, :cpu, :delay, :gc_runs, :gc_time, :objects, :latencies,
                             :timeline, :peak, :peak_source, :own, :errors, :first_error, :results, :failure,
                             :failure_kind,
                             keyword_init: true) do
      # @return [Measurement] one without figures
      def self.failed(label, failure, kind = :failed) = new(label: label, failure: failure, failure_kind: kind)

      # @return [Boolean] it has figures
      def ok? = failure.nil?

      # @return [Boolean] this machine, Ruby or mechanism can't run the cell; nothing went wrong
      def unsupported? = failure_kind == :unsupported

      # @return [Float] items per second
      def rate = items / wall

      # @return [Float] seconds of processor time per item
      def cpu_per_item = cpu / items
    end
  end
end
