# frozen_string_literal: true

require "plait/values/errors"

module Plait
  module RPC
    class PureLine
      # What comes, while callers read for one another: answers go to the futures that wait for them. All of it but
      # {#hand_on_arrived} is done under the lock, by the one who reads.
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
          end_all(e)
        end

        def take_events
          while (event = @parser.next_event)
            take_event(event)
          end
        rescue LimitExceeded => e
          excuse(e) ? retry : raise
        end

        # An answer over a limit is lost for its call alone; a request is handed on with the error for its arguments.
        def excuse(error)
          request = [@parser.id, @parser.method_name, error] unless @parser.kind == :response
          return false unless @parser.excuse
          return (@arrived ||= []) << request if request

          future = @calls&.delete(@parser.id)
          settle(future, :lost, error) if future
          true
        end

        def take_event(event)
          case event
          when :response then take_answer
          when :large then look_at_large
          when :request, :notification then (@arrived ||= []) << [@parser.id, @parser.method_name, @parser.params]
          end
        end

        # (Not under the lock, nor to be interrupted: who has begun hands on what he takes.) One at a time, so that what came
        # first is handed on first.
        def hand_on_arrived
          Thread.handle_interrupt(Object => :never) do
            next unless exclusively { !@handing_on && (@handing_on = true) }

            hand_on_in_order
          end
        end

        def hand_on_in_order
          while (arrived = exclusively { next_arrived })
            @connection.arrived(*arrived)
          end
          done = true
        ensure
          exclusively { @handing_on = false } unless done
        end

        # What comes after the last one is for somebody else to hand on.
        # @return [Array, nil]
        def next_arrived
          return @arrived.shift if @arrived&.any?

          @arrived = nil
          @handing_on = false
          nil
        end

        def take_answer
          future = @calls&.delete(@parser.id) or return
          error = @parser.error
          error ? settle(future, :refused, [error, @parser.result]) : settle(future, :answered, @parser.result)
        end

        # An answer that nobody waits for any more is not kept.
        def look_at_large
          @parser.discard if @parser.kind == :response && !@calls&.key?(@parser.id)
        end

        def end_of_input
          return end_all(@wire.failure) if @wire.failure

          @parser.finish.next_event
          end_all(EOFError.new("the end of the input"))
        rescue RemoteProtocolError => e
          end_all(e)
        end
      end
    end
  end
end
