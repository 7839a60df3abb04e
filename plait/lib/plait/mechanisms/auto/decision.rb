# frozen_string_literal: true

module Plait
  module Mechanisms
    # What `on: :auto` has chosen, and why. See {Plait.last_decision}.
    class Decision
      # Where a thread keeps its last one.
      # @api private
      PLACE = :@plait_decision
      private_constant :PLACE

      # @return [Symbol] the mechanism
      attr_reader :on
      # @return [Integer] items in flight at most
      attr_reader :limit
      # @return [Hash] :items (finished so far), :rate (items a second that succeeded, nil where it was not measured), :busy
      #   (processors that this process kept busy meanwhile, or nil), :changes (how often the work has changed), :settled (false
      #   while it is still trying), and :trials, an Array with a Hash for each choice that was tried since the last change: :on,
      #   :limit, :rate, :busy, :ratio (how many times as many items it gave), :than (the mechanism and the limit beside it)
      attr_reader :figures

      class << self
        # @api private
        def last = Thread.current.instance_variable_get(PLACE)

        # @api private
        def last=(decision)
          Thread.current.instance_variable_set(PLACE, decision)
        end
      end

      # @api private
      # @yieldparam level [Level]
      # @yieldreturn [Array(Symbol, Integer)] mechanism and limit
      def initialize(climb, &name)
        @on, @limit = yield(climb.level)
        base = climb.base if climb.base&.level == climb.level
        @figures = { items: climb.total, rate: base&.rate, busy: base&.busy, changes: climb.changes, settled: climb.settled?,
                     trials: climb.trials.map { |level, trial| describe(level, trial, &name) }.freeze }.freeze
        freeze
      end

      # @return [String] a sentence without its end
      def why = @figures[:rate] ? [measured, *gains, *losses].join("; ") : unmeasured

      # @return [String] the choice and the reason
      def to_s = "#{choice([@on, @limit])}: #{why}"

      private

      def describe(level, trial)
        on, limit = yield(level)
        { on: on, limit: limit, rate: trial.window.rate, busy: trial.window.busy, ratio: trial.ratio,
          than: yield(trial.base).freeze }.freeze
      end

      def unmeasured
        return "no item has finished yet" if @figures[:items].zero?

        "#{"the first items waited, and " if @limit > 1}too few have finished to compare limits"
      end

      def measured
        busy = format(" with %.2f processors busy", @figures[:busy]) unless @on == :processes # others are busy then
        "#{Quantity.number(@figures[:rate])} items a second#{busy}"
      end

      def gains
        own = @figures[:trials].select { |trial| trial.values_at(:on, :limit) == [@on, @limit] }
        own.map { |trial| "#{times(trial)} as #{choice(trial[:than])}" }
      end

      def losses
        others = @figures[:trials].select { |trial| trial[:than] == [@on, @limit] }
        others.map { |trial| "#{choice(trial.values_at(:on, :limit))} gave #{times(trial)}" }
      end

      def times(trial) = "#{format("%.2f", trial[:ratio])} times as many"

      def choice((mechanism, limit)) = mechanism == :sequence ? "sequence" : "#{mechanism}, #{limit} at once"
    end
  end
end
