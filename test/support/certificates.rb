# frozen_string_literal: true

require "openssl"
require "tmpdir"

# Certificates made by the test: an authority of its own, and what it has issued.
module Certificates
  DAY = 86_400

  # A certificate and its key.
  Pair = Struct.new(:certificate, :key) do
    # @return [Hash] as TLS::Server and TLS::Client take it
    def to_h = { certificate: certificate, key: key }
  end

  # Signs certificates.
  class Authority
    # @return [Pair]
    attr_reader :pair

    def initialize(name = "Plait test CA")
      key = OpenSSL::PKey::EC.generate("prime256v1")
      subject = OpenSSL::X509::Name.new([["CN", name]])
      @pair = Pair.new(Certificates.build(subject, key, ca: true) { |c| [subject, key, c] }, key)
    end

    # @return [OpenSSL::X509::Store]
    def store = OpenSSL::X509::Store.new.tap { |store| store.add_cert(pair.certificate) }

    # @param names [Array<String>] "DNS:localhost", "IP:127.0.0.1"
    def issue(*names, name: "leaf", from: -DAY, to: DAY)
      key = OpenSSL::PKey::EC.generate("prime256v1")
      subject = OpenSSL::X509::Name.new([["CN", name]])
      certificate = Certificates.build(subject, key, names: names, from: from, to: to) do |c|
        [pair.certificate.subject, pair.key, pair.certificate, c].values_at(0, 1, 2)
      end
      Pair.new(certificate, key)
    end
  end

  module_function

  # @yield the certificate, => [issuer's name, key to sign with, issuer's certificate]
  def build(subject, key, names: [], ca: false, from: -DAY, to: DAY)
    certificate = OpenSSL::X509::Certificate.new
    certificate.version = 2
    certificate.serial = Random.rand(1 << 60)
    certificate.subject = subject
    certificate.public_key = key
    certificate.not_before = Time.now + from
    certificate.not_after = Time.now + to
    issuer, signer, parent = yield(certificate)
    certificate.issuer = issuer
    extend_certificate(certificate, parent, names, ca)
    certificate.sign(signer, OpenSSL::Digest.new("SHA256"))
  end

  def extend_certificate(certificate, parent, names, authority)
    factory = OpenSSL::X509::ExtensionFactory.new(parent, certificate)
    certificate.add_extension(factory.create_extension("basicConstraints", "CA:#{authority.to_s.upcase}", true))
    certificate.add_extension(factory.create_extension("subjectAltName", names.join(","))) if names.any?
  end

  # @return [Pair] that nobody else has signed
  def self_signed(*names)
    key = OpenSSL::PKey::EC.generate("prime256v1")
    subject = OpenSSL::X509::Name.new([%w[CN selfmade]])
    Pair.new(build(subject, key, names: names) { |c| [subject, key, c] }, key)
  end
end
