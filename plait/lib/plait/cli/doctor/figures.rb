# frozen_string_literal: true

require_relative "../command"

module Plait
  module CLI
    class Doctor < Command
      # Numbers as people read them.
      module Figures
        UNITS = %w[B kB MB GB TB].freeze

        # @return [String] "1,048,576"
        def self.grouped(number) = number.to_i.to_s.gsub(/(\d)(?=(\d{3})+\z)/, "\\1,")

        # @return [String] "3.8 GB", in powers of 1024
        def self.bytes(number)
          power = UNITS.each_index.find { |index| number < 1024**(index + 1) } || (UNITS.size - 1)
          "#{plain((number / (1024.0**power)).round(1))} #{UNITS[power]}"
        end

        # @return [String] without a zero behind the point
        def self.plain(number) = number == number.to_i ? number.to_i.to_s : number.to_s
      end
    end
  end
end
