# frozen_string_literal: true

require "openssl"
require "plait/values/errors"

module Plait
  module Io
    module TLS
      # Makes of OpenSSL's verdict an error that says what is wrong with a certificate and what to do.
      class Rejection
        # X509_V_ERR_HOSTNAME_MISMATCH, for which JRuby has no constant.
        WRONG_NAME = 62
        NAMES = {
          expired: %i[CERT_HAS_EXPIRED], not_yet_valid: %i[CERT_NOT_YET_VALID], revoked: %i[CERT_REVOKED],
          self_signed: %i[DEPTH_ZERO_SELF_SIGNED_CERT],
          unknown_issuer: %i[SELF_SIGNED_CERT_IN_CHAIN UNABLE_TO_GET_ISSUER_CERT UNABLE_TO_GET_ISSUER_CERT_LOCALLY
                             UNABLE_TO_VERIFY_LEAF_SIGNATURE]
        }.freeze
        REASONS = NAMES.flat_map { |reason, names| names.map { |name| [OpenSSL::X509.const_get("V_ERR_#{name}"), reason] } }
                       .to_h.merge(WRONG_NAME => :wrong_name).freeze
        private_constant :NAMES

        # @param endpoint [Endpoint]
        # @param name [String] whom it should be for
        # @param code [Integer] OpenSSL's verdict
        # @param certificate [OpenSSL::X509::Certificate, nil] the one that was rejected
        def initialize(endpoint, name, code, certificate)
          @endpoint = endpoint
          @name = name
          @certificate = certificate
          @code = code
          @reason = REASONS.fetch(code, :rejected)
        end

        # @return [CertificateError]
        def error
          CertificateError.new("#{@endpoint} was not trusted: #{text}", reason: @reason, endpoint: @endpoint)
        end

        private

        def text
          case @reason
          when :expired then "its certificate expired#{at(:not_after)}: its operator must renew it (or is our clock wrong?)"
          when :not_yet_valid then "its certificate is valid only#{at(:not_before, "from")}: is our clock right?"
          when :self_signed then "its certificate is self-signed: if you trust it, give it as ca_file: or cert_store:"
          when :unknown_issuer then unknown_issuer
          when :wrong_name then "its certificate is for #{names}, not for #{@name}: is that the right host?"
          else verdict
          end
        end

        def unknown_issuer
          "nobody we trust has issued its certificate#{" (issuer: #{@certificate.issuer})" if @certificate}: " \
            "if you trust them, give theirs as ca_file:; perhaps the server doesn't send its whole chain"
        end

        def verdict
          words = OpenSSL::X509::StoreContext.new(OpenSSL::X509::Store.new).tap { |check| check.error = @code }.error_string
          "its certificate was rejected: #{words}"
        end

        def at(field, word = "on")
          @certificate ? " #{word} #{@certificate.public_send(field).utc.strftime("%Y-%m-%d %H:%M UTC")}" : ""
        end

        def names
          found = @certificate ? alternative_names : []
          found.empty? ? "another name" : found.first(5).join(", ")
        end

        def alternative_names
          extension = @certificate.find_extension("subjectAltName") or return [@certificate.subject.to_s]
          extension.value.split(/,\s*/).map { |entry| entry.sub(/\A(?:DNS|IP Address):/, "") }
        end
      end
    end
  end
end
