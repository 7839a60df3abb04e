# frozen_string_literal: true

module Plait
  # Numbers as people read them. An unknown number is a dash.
  module Quantity
    UNKNOWN = "–"
    SECONDS = [[1, "s", 1], [1e-3, "ms", 1e3], [1e-6, "µs", 1e6], [0, "ns", 1e9]].freeze
    # Three digits that count: from which value on, how many of them stand behind the point.
    DECIMALS = [[99.95, 0], [9.995, 1], [0, 2]].freeze
    BYTES = [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [0, "B"]].freeze
    MEMORY = %w[B kB MB GB TB].freeze

    module_function

    # @param value [Numeric, nil] seconds
    # @return [String] "3.21 s", "12.3 ms"
    def seconds(value)
      return UNKNOWN unless value

      # Rounded first, so that 0.9999 s is "1.00 s" and not "1000 ms".
      rounded = significant(value)
      _, unit, factor = SECONDS.find { |least, _, _| rounded >= least }
      rounded.zero? ? "0 s" : "#{digits(value * factor)} #{unit}"
    end

    # @param value [Numeric, nil] bytes; 1 kB is 1000 of them
    def bytes(value)
      return UNKNOWN unless value

      least, unit = BYTES.find { |size, _| significant(value.abs) >= size }
      least.zero? ? "#{value.round} B" : "#{digits(value / least)} #{unit}"
    end

    # @param value [Numeric] bytes of memory, as systems and containers count them
    # @return [String] "3.8 GB", in powers of 1024
    def memory(value)
      power = MEMORY.each_index.find { |index| value < 1024**(index + 1) } || (MEMORY.size - 1)
      "#{plain((value / (1024.0**power)).round(1))} #{MEMORY[power]}"
    end

    # @return [String] without a zero behind the point: "2", "1.5"
    def plain(value) = (value == value.to_i ? value.to_i : value).to_s

    # @return [String] "12,345"
    def count(value) = value ? value.round.to_s.gsub(/(?<=\d)(?=(\d{3})+\z)/, ",") : UNKNOWN

    # @return [String] three digits that count, thousands apart: "0.25", "25.1", "12,345"
    def number(value)
      return UNKNOWN unless value

      value.abs >= 100 ? count(value) : digits(value)
    end

    # @return [String] "3.3 ×"
    def times(value)
      return UNKNOWN unless value

      "#{value < 9.95 ? format("%.2f", value) : number(value)} ×"
    end

    # @param value [Float, nil] 0..1
    # @return [String] "99 %"
    def percent(value) = value ? "#{(value * 100).round} %" : UNKNOWN

    def digits(value)
      return "0" if value.zero?

      decimals = DECIMALS.find { |least, _| value.abs >= least }.last
      format("%.#{decimals}f", value)
    end

    def significant(value) = value.zero? ? 0.0 : value.round(2 - Math.log10(value.abs).floor)
  end
  private_constant :Quantity
end
