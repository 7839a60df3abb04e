# frozen_string_literal: true

module Plait
  module CLI
    # A guess in words no more exact than it is.
    module TimeLeft
      DAY = 86_400

      # @param seconds [Numeric]
      # @return [String] "about 2 min left"
      def self.words(seconds)
        return "more than a day left" if seconds > DAY
        return "about #{(seconds / 3600.0).round} h left" if seconds >= 5400
        return "about #{(seconds / 60.0).round} min left" if seconds >= 90
        return "about #{[seconds.round(-1), 10].max} s left" if seconds >= 10

        "a few seconds left"
      end
    end
  end
end
