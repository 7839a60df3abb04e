# frozen_string_literal: true

require_relative "waiter"
require_relative "../incoming"
require_relative "../../values/errors"

module Plait
  module RPC
    class Connection
      # What comes, where one reads for good: a server that was told by its reactor, or a reader that a client keeps. Requests
      # go to the dispatcher, outside of the lock; what is answered meanwhile leaves together, at the end.
      module Intake
        # Receives what is there, 64 KiB at most (1 MiB of a large string), and hands it on. Never waits. One at a time.
        # @return [Symbol] :idle, nothing is half received; :partial, something is; :full, the dispatcher has no room: what is
        #   here is handed on by the next call; :closed
        def read_available
          Thread.handle_interrupt(Roles::NEVER) do
            @intake = true
            state = hand_on || receive_portion
            @intake = false
            flush
            closed? ? :closed : state
          end
        end

        # Reads for all, in this thread or fiber, until the connection is closed. Ended early, callers read for one another.
        # @return [void]
        def run
          waiter = @resident
          loop do
            @wire.wait(exclusively { settle_down(waiter) } || break, nil)
            exclusively { @reading = false }
            break if read_available == :closed
          end
        ensure
          exclusively { leave(waiter) }
        end

        private

        # @return [Integer, nil] events to wait for
        def settle_down(waiter)
          return if @over

          flush_now
          events_for(waiter, true)
        end

        # @return [Symbol] as {#read_available}
        def receive_portion
          received = exclusively { @over ? 0 : @wire.receive(true) }
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
        rescue RemoteProtocolError => e
          exclusively { finish(e) }
        end

        # @return [Boolean] whether there was room for it
        def take(event)
          case event
          when :request, :notification then room? && hand_over_request
          when :response then exclusively { take_answer } || true
          when :large then take_large
          else true
          end
        end

        # Who waits for an answer gets it, however much there is to do.
        def room? = @dispatcher.nil? || @dispatcher.room?(self) || pending.positive?

        def take_large
          return room? unless @parser.kind == :response

          exclusively { look_at_large }
          true
        end

        def hand_over_request
          incoming = Incoming.new(self, @parser.id, @parser.method_name, @parser.params)
          @dispatcher&.take(incoming)
          true
        end
      end
    end
  end
end
