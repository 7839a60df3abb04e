# frozen_string_literal: true

module Plait
  module Lab
    class HtmlReport
      # Where values stand on an axis, in percent of its length. Values that differ by a factor of ten or more stand on a
      # logarithmic axis: on an even one the small ones would be invisible.
      class Scale
        WIDE = 10
        # Marks of a logarithmic axis that spans few powers of ten.
        BETWEEN = [1, 2, 5].freeze
        # Marks of an axis at most.
        MARKS = 6
        # Part of the axis that is left free before the least and behind the most, of a logarithmic one in powers of ten.
        ROOM = { least: 0.15, most: 0.05 }.freeze

        # @param values [Array<Numeric>] all that it must hold
        # @param typical [Array<Numeric>] medians: one odd round must not decide what kind of axis it is
        # @yieldreturn [String] a mark in words
        def initialize(values, even: false, typical: values, &words)
          @words = words
          least, @most = values.minmax
          @logarithmic = !even && least.positive? && typical.max.fdiv(typical.min) >= WIDE
          @low, @high = @logarithmic ? [Math.log10(least) - ROOM[:least], Math.log10(@most) + ROOM[:most]] : [0.0, @most * 1.02]
          @high = 1.0 if @high <= @low
        end

        def logarithmic? = @logarithmic

        # @return [Float] 0..100
        def place(value)
          number = @logarithmic ? Math.log10([value, 1e-12].max) : value
          ((number - @low) / (@high - @low) * 100).clamp(0.0, 100.0).round(2)
        end

        # @return [Array<Array(Float, String)>] place and words of each mark
        def marks = (@logarithmic ? powers : steps).map { |mark| [place(mark), @words.call(mark)] }

        private

        def steps
          rough = @high / (MARKS - 1)
          power = 10.0**Math.log10(rough).floor
          step = [1, 2, 5, 10].map { |factor| factor * power }.find { |one| one >= rough }
          Array.new((@high / step).floor + 1) { |number| (number * step).round(12) }
        end

        def powers
          whole = (@low.ceil..@high.floor).map { |power| 10.0**power }
          return whole.each_slice(whole.size.fdiv(MARKS).ceil).map(&:first) if whole.size > 2

          (@low.floor..@high.ceil).flat_map { |power| BETWEEN.map { |factor| factor * (10.0**power) } }
                                  .select { |mark| Math.log10(mark).between?(@low, @high) }
        end
      end
    end
  end
end
