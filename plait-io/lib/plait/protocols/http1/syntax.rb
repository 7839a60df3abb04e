# frozen_string_literal: true

module Plait
  module Protocols
    module HTTP1
      # The grammar that heads, trailers and what we send have in common. Strings are binary or ASCII.
      module Syntax
        # RFC 9110 §5.6.2
        TOKEN = /\A[!#$%&'*+\-.^_`|~0-9A-Za-z]+\z/n
        # Bytes that no field value may have; HTAB it may.
        CONTROL = /[\x00-\x08\x0a-\x1f\x7f]/n
        # Of what we send. Wider than RFC 3986: browsers send | ^ { } " as they are. A fragment is never sent.
        TARGET = /\A[\x21\x22\x24-\x7e]+\z/n

        NAME_BYTES = /[!$&'()*+,\-.0-9;=A-Z_a-z~]|%\h\h/n
        LITERAL_BYTES = /[!$%&'()*+,\-.0-9:;=A-Z_a-z~]/n
        # A registered name, an IPv4 address, or an IP literal (RFC 3986 §3.2.2)
        HOST = /\[#{LITERAL_BYTES}+\]|(?:#{NAME_BYTES})+/n
        # Host's value: empty for a target without an authority (RFC 9110 §7.2)
        HOST_AND_PORT = /\A(?:(?:#{HOST})(?::\d*)?)?\z/n
        AUTHORITY = /\A(?:#{HOST}):\d+\z/n
        # Its authority is taken for the host, and held to the same rules; a userinfo is an error (RFC 9110 §4.2.4).
        ABSOLUTE = %r{\A[A-Za-z][A-Za-z0-9+\-.]*://(?:#{HOST})(?::\d*)?(?:[/?]|\z)}n

        class << self
          # @param target [String] of allowed bytes
          # @return [Boolean] whether the method has targets of this form (RFC 9112 §3.2)
          def target_form?(method, target)
            return AUTHORITY.match?(target) if method == "CONNECT"
            return target == "*" && method == "OPTIONS" if target.start_with?("*")

            target.start_with?("/") || ABSOLUTE.match?(target)
          end
        end
      end

      # What fields say about the reuse of a connection, beyond Connection itself. Twin: http1_framing.c.
      module Persistence
        # Schemes that log in a connection, and not a request (RFC 4559 §6).
        LOGIN = /(?:\A|,)[ \t]*(?:ntlm|negotiate)(?=[ \t,]|\z)/i
        # Fields of an answer in which a server offers or ends a login.
        CHALLENGES = %w[www-authenticate proxy-authenticate].freeze
        # Fields of a request that have its credentials.
        CREDENTIALS = %w[authorization proxy-authorization].freeze

        module_function

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
        def kept(name, field) = field.to_s.scan(/(?:\A|,)[ \t]*#{name}=(\d{1,9})(?=[ \t]*(?:,|\z))/i).last&.first&.to_i

        # A request that is on its way when the time ends would be lost.
        # @param seconds [Integer, nil] for which the peer says it keeps an idle connection
        # @return [Float, nil] seconds in which a request may begin
        def margin(seconds) = seconds && [seconds - 1.0, seconds / 2.0].max
      end
    end
  end
end
