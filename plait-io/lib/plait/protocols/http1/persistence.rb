# frozen_string_literal: true

module Plait
  module Protocols
    module HTTP1
      # What fields say about the reuse of a connection, beyond Connection itself. Twin: http1_framing.c.
      module Persistence
        # Schemes that log in a connection, and not a request (RFC 4559 §6).
        LOGIN = /(?:\A|,)[ \t]*(?:ntlm|negotiate)(?=[ \t,]|\z)/i
        # Fields of an answer in which a server offers or ends a login.
        CHALLENGES = %w[www-authenticate proxy-authenticate].freeze
        # Fields of a request that have its credentials.
        CREDENTIALS = %w[authorization proxy-authorization].freeze

        module_function

        # @param fields [Enumerable<Array(String, String)>]
        # @return [Boolean] whether a request logs in the connection: no other user may have it afterwards
        def login_in_request?(fields)
          fields.any? { |name, value| CREDENTIALS.any? { |own| own.casecmp(name)&.zero? } && LOGIN.match?(value) }
        end

        # @yieldparam name [String] of a field
        # @yieldreturn [String, nil] its value
        # @return [Boolean] whether an answer belongs to such a login
        def login_in_answer?
          auth = yield("persistent-auth")
          (!auth.nil? && !auth.casecmp?("false")) || CHALLENGES.any? { |name| LOGIN.match?(yield(name).to_s) }
        end

        # @param name [String] "timeout" or "max"
        # @param field [String, nil] the value of Keep-Alive
        # @return [Integer, nil] the last such number
        def kept(name, field)
          field.to_s.scan(/(?:\A|,)[ \t]*#{name}=(\d{1,9})(?=[ \t]*(?:,|\z))/i).last&.first&.to_i
        end

        # A request that is on its way when the time ends would be lost.
        # @param seconds [Integer, nil] for which the peer says it keeps an idle connection
        # @return [Float, nil] seconds in which a request may begin
        def margin(seconds) = seconds && [seconds - 1.0, seconds / 2.0].max
      end
    end
  end
end
