# frozen_string_literal: true

require_relative "../family"

Gem::Specification.new do |spec|
  spec.name = "plait-http"
  PlaitFamily.describe(spec)
  spec.summary = "Plait's HTTP client"
  spec.description = <<~TEXT
    An HTTP client and fan-out for threads, fibers and processes, Net::HTTP with a pool, and plait fetch.
  TEXT

  files = %w[lib/**/*.rb sig/**/*.rbs README.md CHANGELOG.md]
  spec.files = Dir.glob(files, base: __dir__).select { |path| File.file?(File.join(__dir__, path)) }

  spec.add_dependency "plait", Plait::VERSION
  spec.add_dependency "plait-io", Plait::VERSION
end
