# frozen_string_literal: true

require "openssl"

module Plait
  module Io
    module TLS
      # A certificate, its key, and the certificates between it and the root, from what the user has: PEM, the path of a
      # file, or objects of OpenSSL.
      class Identity
        PEM = /-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----/m

        attr_reader :certificate, :key, :chain

        # @param certificate [String, OpenSSL::X509::Certificate] a file of several certificates brings its chain along
        # @raise [UsageError] when it can't be read, or the key is not the certificate's
        def initialize(certificate:, key:, chain: [])
          @certificate, *bundled = certificates(certificate)
          raise UsageError, "certificate: there is no certificate in it" unless @certificate

          @key = private_key(key)
          @chain = bundled + Array(chain).flat_map { |entry| certificates(entry) }
          raise UsageError, "the key is not the one of the certificate of #{@certificate.subject}" unless match?
        end

        def install(context) = context.add_certificate(@certificate, @key, @chain)

        private

        def match? = @certificate.check_private_key(@key)

        def certificates(source)
          return [source] if source.is_a?(OpenSSL::X509::Certificate)

          text(source, "certificate").scan(PEM).map { |pem| OpenSSL::X509::Certificate.new(pem) }
        rescue OpenSSL::X509::CertificateError => e
          raise UsageError, "certificate: #{e.message}"
        end

        # An empty pass phrase, or OpenSSL would ask for one on the terminal.
        def private_key(source)
          source.is_a?(OpenSSL::PKey::PKey) ? source : OpenSSL::PKey.read(text(source, "key"), "")
        rescue OpenSSL::PKey::PKeyError => e
          raise UsageError, "key: it can't be read (one with a pass phrase must be given as an OpenSSL::PKey): #{e.message}"
        end

        def text(source, name)
          known = source.is_a?(String) || source.respond_to?(:to_path)
          raise UsageError, "#{name}: takes PEM, the path of a file or an object of OpenSSL, not #{source.class}" unless known

          source.is_a?(String) && source.include?("-----BEGIN") ? source : File.read(source)
        rescue SystemCallError => e
          raise UsageError, "#{name}: #{source} can't be read: #{SystemReason.of(e)}"
        end
      end
    end
  end
end
