# frozen_string_literal: true

module Plait
  class Server
    class Workers
      # Sums of what processes report: Hashes of numbers, in which others may stand.
      module Tally
        module_function

        # @param hashes [Array<Hash>]
        # @return [Hash] the sum for each key
        def sum(hashes) = hashes.reduce({}) { |total, hash| total.merge(hash) { |_, one, other| add(one, other) } }

        # @api private
        def add(one, other) = one.is_a?(Hash) ? sum([one, other]) : one + other
      end
    end
  end
end
