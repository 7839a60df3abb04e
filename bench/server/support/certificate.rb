# frozen_string_literal: true

require "fileutils"
require "openssl"
require "tmpdir"

module Bench
  module Server
    # A certificate that the server signs itself, in files. Load generators trust any.
    module Certificate
      module_function

      # @return [Hash{String => String}] an environment that names the files, see servers/plait.rb
      def environment
        folder = Dir.mktmpdir("plait-bench-")
        at_exit { FileUtils.remove_entry(folder) }
        key = OpenSSL::PKey::EC.generate("prime256v1")
        files = { "BENCH_CERTIFICATE" => ["cert.pem", sign(key)], "BENCH_KEY" => ["key.pem", key] }
        files.transform_values { |name, content| File.join(folder, name).tap { |path| File.write(path, content.to_pem) } }
      end

      def sign(key)
        certificate = OpenSSL::X509::Certificate.new
        certificate.version = 2
        certificate.serial = 1
        certificate.subject = certificate.issuer = OpenSSL::X509::Name.parse("/CN=127.0.0.1")
        certificate.public_key = key
        certificate.not_before = Time.now - 60
        certificate.not_after = Time.now + 86_400
        certificate.sign(key, "SHA256")
      end
      private_class_method :sign
    end
  end
end
