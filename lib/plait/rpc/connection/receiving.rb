# frozen_string_literal: true

require_relative "../incoming"
require_relative "../../values/errors"

module Plait
  module RPC
    class Connection
      # What comes, while callers read for one another: answers go to the futures that wait for them. All of it is done under
      # the lock, by the one who reads.
      module Receiving
        # Receives in a row, before others get their turn.
        TURN = 16
        private_constant :TURN

        private

        # @return [void]
        def receive_what_is_there
          TURN.times do
            received = @wire.receive
            return end_of_input if received.nil?
            return if received.zero?

            take_events
          end
        rescue RemoteProtocolError => e
          finish(e)
        end

        def take_events
          while (event = @parser.next_event)
            case event
            when :response then take_answer
            when :large then look_at_large
            when :request, :notification then keep_arrived
            end
          end
        end

        def take_answer
          future = @calls&.delete(@parser.id) or return
          error = @parser.error
          future.settle(error ? :refused : :answered, error || @parser.result)
          future.waiters&.each { |waiter| wake(waiter) }
        end

        # An answer that nobody waits for any more is not kept.
        def look_at_large
          @parser.discard if @parser.kind == :response && !@calls&.key?(@parser.id)
        end

        def keep_arrived
          (@arrived ||= []) << Incoming.new(self, @parser.id, @parser.method_name, @parser.params) if @parser.id
        end

        # Of a client that has no handler. (Not under the lock.)
        def refuse_arrived
          while (incoming = exclusively { @arrived&.shift })
            respond_error(incoming.id, "this client takes no requests: #{incoming.method_name}")
          end
        end

        def end_of_input
          return finish(@wire.failure) if @wire.failure

          @parser.finish.next_event
          finish(EOFError.new("the end of the input"))
        rescue RemoteProtocolError => e
          finish(e)
        end
      end
    end
  end
end
