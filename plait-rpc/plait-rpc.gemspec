# frozen_string_literal: true

require_relative "../family"

Gem::Specification.new do |spec|
  spec.name = "plait-rpc"
  PlaitFamily.describe(spec)
  spec.summary = "Plait's MessagePack-RPC"
  spec.description = <<~TEXT
    A MessagePack-RPC client and server for threads and fibers, and plait rpc.
  TEXT

  files = %w[lib/**/*.rb sig/**/*.rbs README.md CHANGELOG.md]
  spec.files = Dir.glob(files, base: __dir__).select { |path| File.file?(File.join(__dir__, path)) }

  spec.add_dependency "msgpack", "~> 1.7"
  spec.add_dependency "plait", Plait::VERSION
  spec.add_dependency "plait-io", Plait::VERSION
end
