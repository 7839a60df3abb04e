# frozen_string_literal: true

require_relative "../family"

Gem::Specification.new do |spec|
  spec.name = "plait-sidekiq"
  PlaitFamily.describe(spec)
  spec.summary = "Plait on many machines"
  spec.description = <<~TEXT
    on: :sidekiq runs the items of Plait.map as Sidekiq jobs.
  TEXT

  files = %w[lib/**/*.rb sig/**/*.rbs README.md CHANGELOG.md]
  spec.files = Dir.glob(files, base: __dir__).select { |path| File.file?(File.join(__dir__, path)) }

  spec.add_dependency "plait", Plait::VERSION
  spec.add_dependency "sidekiq", ">= 7.0", "< 9"
end
