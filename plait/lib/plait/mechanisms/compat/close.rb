# frozen_string_literal: true

require_relative "close_half"
require_relative "loops"

module Plait
  module Mechanisms
    module Compat
      # Ruby tells the threads that wait for an IO that it is closed, and schedulers only from Ruby 4.0 on. The fibers
      # leave before that: one that stayed would read from the next IO that gets the descriptor's number.
      module Close
        def self.install
          return unless RUBY_VERSION < "4.0"

          IO.prepend(self, CloseHalf)
          Loops.install
        end

        def close
          return super unless (scheduler = Loops.turn_away(self))

          begin
            scheduler.yield unless Fiber.current.blocking?
            nil
          ensure
            super
            scheduler.turn_away(self) # who has rescued it, and waits again
          end
        end
      end
    end
  end
end
