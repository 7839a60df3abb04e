# frozen_string_literal: true

require "plait/values/deadline"

module Plait
  module RPC
    class Server
      class Crew
        # The time for which one worker leads, and the requests that he runs meanwhile, see {Leading}. All of it is changed
        # under the server's lock, or by himself.
        class Stint
          # Seconds after which a method that was quick so far is taken for one that waits.
          PATIENCE = 0.0025

          # @return [Peer, nil] that he has taken hold of
          attr_accessor :peer
          # @return [Symbol, nil] what has come of reading from it, see {Connection#read_available}; nil: that is not known yet
          attr_accessor :state
          # @return [NativeBatch, nil] that he has taken upon himself; until it is counted as done
          attr_accessor :batch
          # @return [Incoming, nil] the one of it that others may have to lead for
          attr_accessor :slow
          attr_writer :since

          # @return [NativeVisit, nil] nil: he pays none
          attr_reader :visit

          # @param visit [NativeVisit, nil]
          def initialize(visit = nil)
            @worker = Fiber.current
            @visit = visit
          end

          # @return [Float, nil] since when he runs methods; monotonic seconds
          def since = @since || @visit&.since

          # @return [Boolean] whether it is the current worker's, and he runs methods
          def runs_here? = !since.nil? && @worker.equal?(Fiber.current)

          # @return [Boolean] whether he has run methods for so long that somebody else should lead
          def stuck?
            began = since
            !began.nil? && Deadline.now > began + PATIENCE
          end

          # @return [Boolean] whether it is the same peer as the last time
          def familiar?
            last = @last
            @last = @peer
            @last.equal?(last)
          end

          # He leads no more, and has nothing to do with the connection.
          # @return [void]
          def end = @since = @peer = nil
        end
      end
    end
  end
end
