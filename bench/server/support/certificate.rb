# frozen_string_literal: true

require "fileutils"
require "tmpdir"
require_relative "../../../test/support/certificates"

module Bench
  module Server
    # A certificate that the server signs itself, in files. Load generators trust any.
    module Certificate
      module_function

      # @return [Hash{String => String}] an environment that names the files, see servers/plait.rb
      def environment
        folder = Dir.mktmpdir("plait-bench-")
        at_exit { FileUtils.remove_entry(folder) }
        pair = ::Certificates.self_signed("IP:127.0.0.1")
        files = { "BENCH_CERTIFICATE" => ["cert.pem", pair.certificate], "BENCH_KEY" => ["key.pem", pair.key] }
        files.transform_values { |name, content| File.join(folder, name).tap { |path| File.write(path, content.to_pem) } }
      end
    end
  end
end
