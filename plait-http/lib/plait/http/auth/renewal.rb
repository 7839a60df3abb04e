# frozen_string_literal: true

require "plait/values/deadline"
require "plait/values/errors"

module Plait
  module HTTP
    module Auth
      # Credentials that are renewed after a 401: of many calls with the old ones, only the first asks for new ones.
      class Renewal
        # @param auth [Object, nil] see {Auth.header}
        # @param refresh [#call] is given the response, and returns new credentials, or nil
        # @raise [UsageError]
        def initialize(auth, refresh)
          raise UsageError, "refresh: takes something to call, not #{refresh.class}" unless refresh.respond_to?(:call)

          @auth = auth
          @refresh = refresh
          @lock = Mutex.new
        end

        # @return [Object, nil] the credentials of now
        def call
          auth = @auth
          auth.respond_to?(:call) ? auth.call : auth
        end

        # @return [Boolean] whether it is renewed by this callable
        def by?(refresh) = @refresh.equal?(refresh)

        # @param since [Float] monotonic seconds: when the refused credentials were read
        # @return [Boolean] whether there are others now
        def renew(response, _request, since)
          return false if @lock.owned? # a call of `refresh` itself

          @lock.synchronize { (!@at.nil? && @at > since) || ask(response) }
        end

        def inspect = "#<#{self.class}>"

        private

        def ask(response)
          auth = @refresh.call(response)
          return false if auth.nil?

          @auth = auth
          @at = Deadline.now
          true
        end
      end
    end
  end
end
