# frozen_string_literal: true

require "plait/values"

module Plait
  module Native
    # The proxy's data plane.
    require "plait/plait_shard" if available?
  end
  private_constant :NativeShard if const_defined?(:NativeShard)
end
