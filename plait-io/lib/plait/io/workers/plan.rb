# frozen_string_literal: true

module Plait
  module Io
    class Workers
      # How workers start, are watched, and end.
      # @!attribute name
      #   @return [String] their name in messages, with %d for the index
      # @!attribute before_fork
      #   @return [Array<#call>] called once, before the first worker starts
      # @!attribute on_boot
      #   @return [Array<#call>] called in each worker with its index, before it serves
      # @!attribute on_shutdown
      #   @return [Array<#call>] the same, when it has served
      # @!attribute on_reopen
      #   @return [Array<#call>] called in each worker when logs are to be opened again
      # @!attribute on_death
      #   @return [Array<#call>] called in the parent, with the index of a worker that died
      # @!attribute on_end
      #   @return [Array<#call>] called once, in the parent, when all workers shall end
      # @!attribute memory
      #   @return [Integer, nil] bytes of memory above which a worker is replaced
      # @!attribute patience
      #   @return [Numeric] seconds in which a worker must be ready, or it is killed
      # @!attribute silence
      #   @return [Numeric] seconds without a report, or with an event loop that stands still, after which a worker is replaced
      # @!attribute grace
      #   @return [Numeric] seconds in which one that is replaced still answers a last request on each open connection
      # @!attribute drain
      #   @return [Numeric] seconds that a worker which ends gives to its running requests, unless a stop names another number
      # @!attribute slack
      #   @return [Numeric] seconds more, after which it is killed
      # @!attribute notice
      #   @return [#call] called with a line for the operator
      Plan = Struct.new(:name, :before_fork, :on_boot, :on_shutdown, :on_reopen, :on_death, :on_end, :memory, :patience, :silence,
                        :grace, :drain, :slack, :notice, keyword_init: true)

      # See {Plan} above.
      class Plan
        # The name of a process that loads an app and starts its workers.
        APP = "the process with the app"
        # Where nothing is said.
        DEFAULTS = { name: "worker %d", before_fork: [], on_boot: [], on_shutdown: [], on_reopen: [], on_death: [], on_end: [],
                     memory: nil, patience: 60, silence: 60, grace: 5, drain: 30, slack: 5,
                     notice: ->(line) { warn("plait: #{line}") } }.freeze

        # @param given [Hash] what differs from {DEFAULTS}
        def self.of(**given)
          new(**DEFAULTS.merge(given.compact).transform_values { |value| value.is_a?(Array) ? value.dup : value }).freeze
        end

        # @param count [Integer] of requests
        # @return [String] that they were cut when a process ended
        def self.cut(count)
          requests, were = count == 1 ? %w[request was] : %w[requests were]
          "#{count} #{requests} had not ended in time and #{were} cut (see --drain)"
        end

        # @return [String] "worker 2"
        def title(index) = name.sub("%d", index.to_s)
      end
    end
  end
end
