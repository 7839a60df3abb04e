# frozen_string_literal: true

require_relative "../family"

Gem::Specification.new do |spec|
  spec.name = "plait-server"
  PlaitFamily.describe(spec)
  spec.summary = "Plait's Rack server"
  spec.description = <<~TEXT
    A Rack server on threads, fibers, or fibers with a thread pool, and plait serve.
  TEXT

  files = %w[lib/**/*.rb sig/**/*.rbs README.md CHANGELOG.md]
  spec.files = Dir.glob(files, base: __dir__).select { |path| File.file?(File.join(__dir__, path)) }

  spec.add_dependency "plait", Plait::VERSION
  spec.add_dependency "plait-io", Plait::VERSION
  spec.add_dependency "rack", ">= 3.0", "< 4"
end
