# frozen_string_literal: true

module Plait
  module Native
    # The proxy's data plane.
    require "plait/plait_shard" if available?
  end
  private_constant :NativeShard if const_defined?(:NativeShard)
end
