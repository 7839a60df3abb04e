# frozen_string_literal: true

require "plait/values/errors"
require_relative "auth/digest"
require_relative "auth/netrc"
require_relative "auth/renewal"

module Plait
  module HTTP
    # The Authorization field (RFC 9110 §11.6.2): Basic (RFC 7617), Bearer (RFC 6750), Digest (RFC 7616), or a text of
    # the caller.
    # @api private
    module Auth
      FORMS = "[user, password], {basic: [user, password]}, {bearer: token}, {digest: [user, password]}, the value of the " \
              "field as a String, or something to call that returns one of these, but no digest"
      # RFC 6750 §2.1
      TOKEN = %r{\A[A-Za-z0-9\-._~+/]+=*\z}
      private_constant :TOKEN

      class << self
        # What a client or a request keeps of its options.
        # @param refresh [#call, nil] see {Renewal}
        # @raise [UsageError]
        def prepared(auth, refresh = nil)
          auth = Digest.new(*auth[:digest]) if auth.is_a?(Hash) && auth.size == 1 && auth.key?(:digest)
          return auth if refresh.nil? || (auth.is_a?(Renewal) && auth.by?(refresh))
          raise UsageError, "a client takes refresh: or auth: {digest: …}, not both" if auth.is_a?(Digest)

          Renewal.new(auth, refresh)
        end

        # @return [Boolean] whether the field needs neither a call nor an answer of the server
        def plain?(auth) = auth.is_a?(Array) || (auth.is_a?(Hash) && !auth.key?(:digest))

        # @return [Boolean] whether the field is the same for each request
        def fixed?(auth) = !auth.respond_to?(:call) && !auth.is_a?(Digest)

        # @param auth [Array(String, String), Hash, String, Digest, #call, nil]
        # @param request [Request, nil] that Digest answers for
        # @return [String, nil] the value of the field
        # @raise [UsageError] for anything else; it never tells the secret
        def header(auth, request = nil)
          case auth
          when nil, false then nil
          when Digest then auth.header(request)
          when String then auth
          when Array then basic(*auth)
          when Hash then from_hash(auth)
          else header(called(auth))
          end
        end

        # @param user [String] without a colon
        # @param password [String]
        # @return [String]
        # @raise [UsageError]
        def basic(user = nil, password = nil, *rest)
          raise UsageError, "auth: Basic takes a user and a password: [user, password]" if user.nil? || rest.any?
          raise UsageError, "auth: the user of Basic can't have a colon (RFC 7617 §2)" if user.to_s.include?(":")

          "Basic #{["#{user}:#{password}"].pack("m0")}"
        end

        # @param token [String]
        # @return [String]
        # @raise [UsageError]
        def bearer(token)
          return "Bearer #{token}" if TOKEN.match?(token.to_s)

          raise UsageError, "auth: a Bearer token has letters, digits and -._~+/= only (RFC 6750 §2.1)"
        end

        private

        def from_hash(auth)
          kind, value = auth.first
          return public_send(kind, *value) if auth.size == 1 && %i[basic bearer].include?(kind)

          raise UsageError, "auth: takes #{FORMS}; not a Hash of #{auth.keys.map(&:inspect).join(", ")}"
        end

        def called(auth)
          raise UsageError, "auth: takes #{FORMS}; not #{auth.class}" unless auth.respond_to?(:call)

          value = auth.call
          raise UsageError, "auth: the callable returned another callable" if value.respond_to?(:call)

          value
        end
      end
    end
    private_constant :Auth
  end
end
