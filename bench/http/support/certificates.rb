# frozen_string_literal: true

require "openssl"

module Bench
  module HTTP
    # A certificate authority of our own and a certificate of it for one address: clients verify as they would outside.
    class Certificates
      DAY = 86_400
      EXTENSIONS = { authority: [["basicConstraints", "CA:TRUE", true], ["keyUsage", "keyCertSign", true]],
                     server: [["basicConstraints", "CA:FALSE", true], ["extendedKeyUsage", "serverAuth", false]] }.freeze

      # Writes ca.pem, server.pem and server.key.
      # @param folder [String]
      # @param address [String] IP address the certificate is good for
      def self.write(folder, address) = new(folder, address).write

      def initialize(folder, address)
        @folder = folder
        @address = address
      end

      def write
        authority_key, server_key = Array.new(2) { OpenSSL::PKey::EC.generate("prime256v1") }
        authority = certificate("Bench CA", authority_key, EXTENSIONS[:authority])
        authority = sign(authority, authority, authority_key)
        alternative = ["subjectAltName", "IP:#{@address}", false]
        server = certificate(@address, server_key, [*EXTENSIONS[:server], alternative])
        save("ca.pem" => authority.to_pem, "server.pem" => sign(server, authority, authority_key).to_pem,
             "server.key" => server_key.to_pem)
      end

      private

      def certificate(name, key, extensions)
        OpenSSL::X509::Certificate.new.tap do |certificate|
          certificate.version = 2
          certificate.serial = OpenSSL::BN.rand(64)
          certificate.subject = OpenSSL::X509::Name.new([["CN", name]])
          certificate.public_key = key
          certificate.not_before = Time.now - DAY
          certificate.not_after = Time.now + DAY
          factory = OpenSSL::X509::ExtensionFactory.new
          extensions.each { |extension| certificate.add_extension(factory.create_extension(*extension)) }
        end
      end

      def sign(certificate, issuer, key)
        certificate.issuer = issuer.subject
        certificate.sign(key, OpenSSL::Digest.new("SHA256"))
      end

      def save(files) = files.each { |name, text| File.write(File.join(@folder, name), text) }
    end
  end
end
