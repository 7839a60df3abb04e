# frozen_string_literal: true

require_relative "loops"

module Plait
  module Mechanisms
    module Compat
      # These close an IO that has no other half. (A socket has methods of its own for its halves.)
      module CloseHalf
        def close_read
          super
          Loops.turn_away(self) if closed?
          nil
        end

        def close_write
          super
          Loops.turn_away(self) if closed?
          nil
        end
      end
    end
  end
end
