# frozen_string_literal: true

require_relative "metrics"
require_relative "place"
# The last: it would load what is loaded here when it is asked for.
require_relative "../server"

module Plait
  class Server
    # Where {Metrics} can be asked for: a small server beside the app's, which answers also when that answers nobody.
    class MetricsEndpoint
      # @param place [String] see {Place}
      # @yieldreturn [Hash] as {Workers#report}
      # @raise [ListenError, UsageError]
      def initialize(place, &report)
        @listener = Place.new(place).open
        @server = Server.new(Metrics.new(&report), on: :threads, limit: 2)
        @server.listen(@listener)
        @thread = @server.start
      end

      # In a fork, which has no part in it.
      # @return [void]
      def forget = @listener.io.close

      # @return [void]
      def close
        @server.stop(within: 0)
        @thread.join
      end
    end
  end
end
