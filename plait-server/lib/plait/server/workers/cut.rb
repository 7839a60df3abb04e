# frozen_string_literal: true

module Plait
  class Server
    class Workers
      # What was begun and not ended when the time for that was up.
      module Cut
        # @param count [Integer] of requests
        # @return [String]
        def self.words(count)
          requests, were = count == 1 ? %w[request was] : %w[requests were]
          "#{count} #{requests} had not ended in time and #{were} cut (see --drain)"
        end
      end
    end
  end
end
