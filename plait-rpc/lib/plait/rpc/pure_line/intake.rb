# frozen_string_literal: true

require "plait/values/errors"

module Plait
  module RPC
    class PureLine
      # What comes, where a server reads. Requests are handed on outside of the lock; what is answered meanwhile leaves
      # together, at the end.
      module Intake
        # Receives what is there, 64 KiB at most (1 MiB of a large string), and hands it on. Never waits. One at a time.
        # @return [Symbol] :idle, nothing is half received; :partial, something is; :full, there is no room: what is here is
        #   handed on by the next call; :closed
        def read_available
          return :closed if @over || foreign?

          state = take_in
          @over ? :closed : state
        end

        private

        def take_in
          @intake = true
          hand_on || receive_portion
        ensure
          @intake = false
          @connection.unsent_left unless flush
        end

        # @return [Symbol] as {#read_available}
        def receive_portion
          received = exclusively { @over ? 0 : @wire.receive }
          return exclusively { end_of_input } && :closed if received.nil?

          hand_on || (@parser.idle? ? :idle : :partial)
        end

        # @return [Symbol, nil] :full
        def hand_on
          while (event = @held || @parser.next_event)
            @held = event
            return :full unless take(event)

            @held = nil
          end
        rescue LimitExceeded => e
          return :full unless @parser.kind == :response || @connection.place?

          excused?(e) ? retry : exclusively { end_all(e) }
        rescue RemoteProtocolError => e
          exclusively { end_all(e) }
        end

        def excused?(error)
          return exclusively { excuse(error) } if @parser.kind == :response

          id, name = @parser.id, @parser.method_name
          @parser.excuse && (@connection.arrived(id, name, error) || true)
        end

        # @return [Boolean] whether there was room for it
        def take(event)
          case event
          when :request, :notification
            @connection.place? && (@connection.arrived(@parser.id, @parser.method_name, @parser.params) || true)
          when :response then exclusively { take_answer } || true
          when :large then take_large
          else true
          end
        end

        def take_large
          return @connection.room? unless @parser.kind == :response

          exclusively { look_at_large }
          true
        end
      end
    end
  end
end
