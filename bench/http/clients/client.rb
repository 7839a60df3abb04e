# frozen_string_literal: true

module Bench
  module HTTP
    module Clients
      # What every contestant can do: get all, keep all.
      class Client
        # @param site [Site]
        # @param limit [Integer] requests in flight, and connections, at most
        def initialize(site, limit)
          @site = site
          @limit = limit
        end

        # What {get} is given, made beforehand: what a user of this client would already have. Most have URLs.
        # @param targets [Array<String>] paths with queries
        # @return [Array]
        def requests(targets) = targets.map { |target| site.url(target) }

        # @param requests [Array] as made by {requests}
        # @return [Array<String>] the bodies
        def get(requests) = raise(NotImplementedError)

        # @return [Boolean] whether the bodies are in the order of the requests
        def in_order? = true

        private

        attr_reader :site, :limit
      end
    end
  end
end
