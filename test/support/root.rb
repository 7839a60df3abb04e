# frozen_string_literal: true

module Support
  # The folder of the project, as Ruby names it in warnings and backtraces: with symbolic links resolved.
  ROOT = File.realpath("../..", __dir__)
  # The gems of this repository, a folder each, in the order of their dependencies, and what can be required of them.
  FAMILY = %w[plait plait-io plait-http plait-server plait-rpc plait-shard plait-db plait-sidekiq].freeze
  LIBS = FAMILY.map { |name| File.join(ROOT, name, "lib") }.freeze
  # For a new Ruby.
  FLAGS = LIBS.map { |folder| "-I#{folder}" }.freeze
end
