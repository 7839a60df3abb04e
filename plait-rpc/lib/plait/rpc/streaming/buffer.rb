# frozen_string_literal: true

require_relative "../lock"
require_relative "../streaming"

module Plait
  module RPC
    module Streaming
      # Chunks between who writes and who reads them. The one of the two that is a method, on a thread or a fiber, waits in here;
      # the other one is requests of the peer, and is answered later.
      class Buffer
        # @param aside [#call] around each wait of the method, see {Server::Dispatcher#aside}
        def initialize(aside)
          @aside = aside
          @lock = Lock.new
          @chunks = []
          @weight = 0
        end

        private

        # Waits, and tries again, until there is something else than nil.
        # @yield under the lock
        # @return [Object]
        def attempt
          loop do
            sleeper = nil
            found = @lock.exclusively do
              value = yield
              @sleeper = sleeper = Lock::Sleeper.new if value.nil?
              value
            end
            return found unless found.nil?

            @aside.call { @lock.sleep(sleeper, nil) until sleeper.called? }
          end
        end

        # All of these are under the lock.

        def wake
          @sleeper&.call
          @sleeper = nil
        end

        def full? = @weight >= WINDOW

        def add(chunks)
          @chunks.concat(chunks)
          @weight += chunks.sum { |chunk| Streaming.weight(chunk) }
        end

        def clear
          @chunks = []
          @weight = 0
        end
      end
    end
  end
end
