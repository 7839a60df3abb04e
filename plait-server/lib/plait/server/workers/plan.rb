# frozen_string_literal: true

module Plait
  class Server
    class Workers
      # How workers are begun, watched and ended.
      # @!attribute name
      #   @return [String] what they are called in messages, with %d where their index stands
      # @!attribute before_fork
      #   @return [Array<#call>] called once, before the first worker is begun
      # @!attribute on_boot
      #   @return [Array<#call>] called in each worker with its index, before it serves
      # @!attribute on_shutdown
      #   @return [Array<#call>] the same, when it has served
      # @!attribute on_reopen
      #   @return [Array<#call>] called in each worker when logs are to be opened again
      # @!attribute on_end
      #   @return [Array<#call>] called once, by the process that has begun them, when they are told to end
      # @!attribute memory
      #   @return [Integer, nil] bytes of memory above which one is replaced
      # @!attribute patience
      #   @return [Numeric] seconds in which one must be ready; then it is killed
      # @!attribute silence
      #   @return [Numeric] seconds after which one that says nothing, or whose event loop stands still, is killed, and replaced
      # @!attribute grace
      #   @return [Numeric] seconds in which one that is replaced still answers a last request on each open connection
      # @!attribute drain
      #   @return [Numeric] seconds that a worker which ends gives to its running requests, unless a stop names another number
      # @!attribute slack
      #   @return [Numeric] seconds more, after which it is killed
      # @!attribute notice
      #   @return [#call] is told, in a line, what people should know
      Plan = Struct.new(:name, :before_fork, :on_boot, :on_shutdown, :on_reopen, :on_end, :memory, :patience, :silence,
                        :grace, :drain, :slack, :notice, keyword_init: true)

      # See {Plan} above.
      class Plan
        # The name of a process that loads an app and begins its workers.
        APP = "the process with the app"
        # Where nothing is said.
        DEFAULTS = { name: "worker %d", before_fork: [], on_boot: [], on_shutdown: [], on_reopen: [], on_end: [],
                     memory: nil, patience: 60, silence: 60, grace: 5, drain: 30, slack: 0.5,
                     notice: ->(line) { warn("plait: #{line}") } }.freeze

        # @param given [Hash] what differs from {DEFAULTS}
        # @return [Plan]
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
