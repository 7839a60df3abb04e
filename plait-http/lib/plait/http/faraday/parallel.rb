# frozen_string_literal: true

module Plait
  module HTTP
    module Faraday
      # What `connection.in_parallel { … }` collects, sent by fibers when the block ends.
      class Parallel
        # Requests in flight at most.
        LIMIT = 64

        # @param limit [Integer]
        def initialize(limit)
          @limit = limit
          @waiting = []
        end

        # @yieldreturn [void] sends the request and finishes its response
        def add(&perform) = @waiting << perform

        # Faraday calls it at the end of the block. Callbacks of a response may add further requests.
        # @raise [Exception] the first failure, after which the others are not sent
        def run
          until @waiting.empty?
            waiting, @waiting = @waiting, []
            Plait.map(waiting, on: :fibers, limit: @limit, &:call)
          end
        end
      end
    end
  end
end
