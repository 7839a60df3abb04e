# frozen_string_literal: true

require_relative "../family"

Gem::Specification.new do |spec|
  spec.name = "plait-shard"
  PlaitFamily.describe(spec)
  spec.summary = "Plait's Redis sharding proxy"
  spec.description = <<~TEXT
    Several Redis nodes behind one address, and plait shard.
  TEXT

  files = %w[lib/**/*.rb ext/**/*.{c,h,inc,rb} ext/*/depend sig/**/*.rbs README.md CHANGELOG.md]
  spec.files = Dir.glob(files, base: __dir__).select { |path| File.file?(File.join(__dir__, path)) }

  spec.add_dependency "plait", Plait::VERSION
  spec.add_dependency "plait-io", Plait::VERSION

  # JRuby has no C extensions: pure-Ruby twins stand in.
  if RUBY_ENGINE == "jruby"
    spec.platform = "java"
  else
    spec.extensions = ["ext/plait_shard/extconf.rb"]
  end
end
