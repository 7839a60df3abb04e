# frozen_string_literal: true

require "plait/io/shared_numbers"

module Plait
  module RPC
    class Server
      class Prefork
        # How many connections each worker has, as all of them see it. The kernel gives a connection to whoever asks first, and
        # who is awake is always first: so those with more than others leave these a moment.
        class Scores
          # In the place of a worker that is not there: nobody waits for it.
          NOBODY = (1 << 32) - 1

          # @param workers [Integer]
          def initialize(workers)
            @numbers = Io::SharedNumbers.new(workers, NOBODY)
          end

          # In a worker: from now on it has that place.
          # @param place [Integer]
          # @return [self]
          def take(place)
            @place = place
            @numbers[place] = 0
            self
          end

          # In the master: that worker is gone.
          # @return [void]
          def vacate(place) = @numbers[place] = NOBODY

          # @param connections [Integer] that this worker has now
          # @return [Integer] how many the one with the fewest has less
          def lead(connections)
            @numbers[@place] = connections
            [connections - @numbers.to_a.min, 0].max
          end

          # @return [void]
          def close = @numbers.close
        end
      end
    end
  end
end
