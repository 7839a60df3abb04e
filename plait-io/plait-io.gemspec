# frozen_string_literal: true

require_relative "../family"

Gem::Specification.new do |spec|
  spec.name = "plait-io"
  PlaitFamily.describe(spec)
  spec.summary = "Connections and protocols for Plait"
  spec.description = <<~TEXT
    Streams, listeners, TLS, pools and HTTP/1, and the C engines under Plait's HTTP client, Rack server and
    MessagePack-RPC.
  TEXT

  files = %w[lib/**/*.rb ext/**/*.{c,h,inc,rb} ext/*/depend sig/**/*.rbs README.md CHANGELOG.md]
  spec.files = Dir.glob(files, base: __dir__).select { |path| File.file?(File.join(__dir__, path)) }

  spec.add_dependency "plait", Plait::VERSION

  # JRuby has no C extensions: pure-Ruby twins stand in.
  if RUBY_ENGINE == "jruby"
    spec.platform = "java"
  else
    spec.extensions = ["ext/plait_io/extconf.rb"]
  end
end
