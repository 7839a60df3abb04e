# frozen_string_literal: true

require "plait/values/errors"

module Plait
  module HTTP
    # The Authorization field (RFC 9110 §11.6.2): Basic (RFC 7617), Bearer (RFC 6750), or a text of the caller.
    # @api private
    module Auth
      FORMS = "[user, password], {basic: [user, password]}, {bearer: token}, the value of the field as a String, or something " \
              "to call that returns one of these"
      # RFC 6750 §2.1
      TOKEN = %r{\A[A-Za-z0-9\-._~+/]+=*\z}
      private_constant :TOKEN

      class << self
        # @param auth [Array(String, String), Hash, String, #call, nil]
        # @return [String, nil] the value of the field
        # @raise [UsageError] for anything else; it never tells the secret
        def header(auth)
          case auth
          when nil, false then nil
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
