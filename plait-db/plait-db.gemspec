# frozen_string_literal: true

require_relative "../family"

Gem::Specification.new do |spec|
  spec.name = "plait-db"
  PlaitFamily.describe(spec)
  spec.summary = "Databases under Plait"
  spec.description = <<~TEXT
    A pool and bridges to database drivers and ORMs for threads, fibers and processes.
  TEXT

  files = %w[lib/**/*.rb sig/**/*.rbs README.md CHANGELOG.md]
  spec.files = Dir.glob(files, base: __dir__).select { |path| File.file?(File.join(__dir__, path)) }

  spec.add_dependency "plait", Plait::VERSION
  spec.add_dependency "plait-io", Plait::VERSION
end
