# frozen_string_literal: true

require "plait/values/errors"
require "plait/values/suggestion"

module Plait
  module DB
    # The options of drivers that pass over what they don't know: a wrong letter would leave a program without its timeout, or
    # in the clear.
    module DriverOptions
      # @param known [Array<Symbol>] to the driver
      # @param pools [Array<Symbol>] what {DB.connect} takes for the pool
      # @param given [Array<Symbol>]
      # @return [void]
      # @raise [UsageError] which names the nearest one
      def self.check(known, pools, given)
        odd = given.find { |name| !known.include?(name) } or return
        near = Suggestion.nearest(odd.to_s, (known + pools).map(&:to_s))
        raise UsageError, "#{odd}: is an option neither of the pool nor of the driver#{near && "; did you mean #{near}:?"}"
      end
    end
  end
end
