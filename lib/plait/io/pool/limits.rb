# frozen_string_literal: true

module Plait
  module Io
    class Pool
      # How many, and for how long.
      Limits = Struct.new(:per_key, :max, :idle_timeout)
    end
  end
end
