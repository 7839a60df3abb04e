# frozen_string_literal: true

module Plait
  module CLI
    # A guess in words no more exact than it is.
    module TimeLeft
      # @param seconds [Numeric]
      # @return [String] "about 2 min left"
      def self.words(seconds)
        return "about #{(seconds / 60.0).round} min left" if seconds >= 90
        return "about #{[seconds.round(-1), 10].max} s left" if seconds >= 10

        "a few seconds left"
      end
    end
  end
end
