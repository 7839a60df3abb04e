# frozen_string_literal: true

module Plait
  module Io
    class Pool
      # How many, and for how long.
      Limits = Struct.new(:per_key, :max, :idle_timeout, :max_idle) do
        # Half of the descriptors that this process may open: what nobody uses leaves the others to who needs them.
        # @return [Integer]
        def self.half_of_all
          soft, = Process.getrlimit(:NOFILE)
          soft.between?(2, 1 << 30) ? soft / 2 : 1 << 30
        rescue NotImplementedError, SystemCallError
          512 # of 1,024, as nearly everywhere
        end
      end
    end
  end
end
