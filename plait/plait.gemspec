# frozen_string_literal: true

require_relative "../family"

Gem::Specification.new do |spec|
  spec.name = "plait"
  PlaitFamily.describe(spec)
  spec.summary = "One body of plain Ruby, any concurrency underneath: run it, measure it, choose."
  spec.description = <<~TEXT
    Runs the same blocking Ruby one after another, on threads, fibers, fibers with a thread pool, processes and
    ractors, measures them side by side in time and memory, and tells which to use.
  TEXT

  files = %w[lib/**/*.rb ext/**/*.{c,h,inc,rb} ext/*/depend exe/* sig/**/*.rbs README.md CHANGELOG.md]
  spec.files = Dir.glob(files, base: __dir__).select { |path| File.file?(File.join(__dir__, path)) }
  spec.bindir = "exe"
  spec.executables = ["plait"]

  spec.add_dependency "timeout", ">= 0.4", "< 1"
  spec.add_dependency "tty-progressbar", "~> 0.18"

  # JRuby has no C extensions: pure-Ruby twins stand in.
  if RUBY_ENGINE == "jruby"
    spec.platform = "java"
  else
    spec.extensions = ["ext/plait/extconf.rb"]
    spec.add_dependency "io-event", ">= 1.11", "< 2"
  end
end
