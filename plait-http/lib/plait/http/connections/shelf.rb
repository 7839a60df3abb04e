# frozen_string_literal: true

module Plait
  module HTTP
    class Connections
      # Connections of one route, between two requests, at hand without the pool's lock: 64 threads that pass it on to each
      # other for every request cost more than their requests. In the pool's books they are busy; so whoever waits for a
      # connection first has them brought back, and as long as somebody waits nothing is put here.
      class Shelf
        # Whether Array#pop and #push are one step for other threads.
        SAFE = RUBY_ENGINE == "ruby"

        # A connection, and since when nobody uses it (monotonic seconds).
        Place = Struct.new(:wire, :since)

        # @return [Array<Place>] the newest last
        attr_reader :places

        # @param route [Route, nil] nil: for none
        def initialize(route = nil)
          @route = route
          @places = []
        end

        # @return [Boolean]
        def for?(route) = @route.equal?(route)
      end
    end
  end
end
