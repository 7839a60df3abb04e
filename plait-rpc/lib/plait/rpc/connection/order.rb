# frozen_string_literal: true

module Plait
  module RPC
    class Connection
      # Answers the last request first, whichever was done first. Neovim before 0.10 closes a channel that answers nested
      # requests in another order: it only looks for the request it has sent last. (So, with such a peer, one thread at a time
      # should make calls that lead it to call back.)
      class Order
        def initialize
          @lock = Mutex.new
          @requests = []
          @answers = {}
        end

        # @param id [Integer] of a request that has come
        # @return [void]
        def enter(id) = @lock.synchronize { @requests << id }

        # @param id [Integer]
        # @yield sends the answer: at once, or when those to all later requests are sent
        # @return [void]
        def settle(id, &answer)
          @lock.synchronize do
            @answers[id] = answer
            @answers.delete(@requests.pop).call while @answers.key?(@requests.last)
          end
        end
      end
    end
  end
end
