# frozen_string_literal: true

require_relative "../incoming"
require "plait/values/errors"

module Plait
  module RPC
    class Connection
      # What the line tells its connection, and asks it: that something of the peer's has arrived, whether there is room for more,
      # what is left to be sent, that it is over.
      module Events
        # Requests that are taken at once, however much there is to do.
        PLENTY = 1024
        private_constant :PLENTY

        # @return [Boolean] whether the dispatcher can take a request; always, while a call of ours waits for its answer
        # @api private
        def room? = @dispatcher.nil? || @dispatcher.room?(self) || read_anyway?

        # @return [Boolean] as {#room?}, for a request that is here: nobody else gets its place
        # @api private
        def place? = @dispatcher.nil? || @dispatcher.place?(self) || read_anyway?

        # @return [Integer] how many requests may be taken before it is asked again, see {#room?}
        # @api private
        def places = read_anyway? ? PLENTY : @dispatcher.places(self)

        # @return [Boolean] whether a call of ours waits for its answer
        # @api private
        def read_anyway? = pending.positive?

        # Requests and notifications of the peer that came at once.
        # @param batch [NativeBatch]
        # @return [void]
        # @api private
        def arrived_together(batch) = @dispatcher.take_together(batch)

        # One of those, for who needs to know more of it.
        # @return [Incoming]
        # @api private
        def incoming(id, method_name, params, arguments)
          Incoming.new(self, id, method_name, params, arguments).tap { |incoming| incoming.dispatcher = @dispatcher }
        end

        # A request, or a notification, of the peer.
        # @return [void]
        # @api private
        def arrived(id, method_name, params)
          @order&.enter(id) if id
          if @dispatcher
            take(Incoming.new(self, id, method_name, params))
          elsif id
            respond_error(id, "this client takes no requests: #{method_name}")
          end
        end

        # A future that is followed is settled.
        # @param future [Future]
        # @return [void]
        # @api private
        def due(future) = @followers.due(future)

        # Something is left to be sent, and the peer takes no more now.
        # @return [void]
        # @api private
        def unsent_left = @dispatcher.unsent(self)

        # What was promised to be sent, and nobody is there who does it. At the end of the process no thread can begin any more.
        # @return [void]
        # @api private
        def find_drainer
          return unless Thread.main.alive?

          Thread.new do
            @line.drain
          rescue Error
            nil # it is over
          end.name = "plait: sends what is left"
        end

        # @param reason [Exception, String]
        # @return [void]
        # @api private
        def ended(reason)
          @dispatcher&.closed(self, reason.is_a?(EOFError) || reason.is_a?(String) ? nil : reason)
        ensure
          @followers&.close
        end

        private

        # Who reads for a server has held interrupts back already, see {#read_available}.
        def take(incoming)
          @served ? @dispatcher.take(incoming) : Thread.handle_interrupt(NEVER) { @dispatcher.take(incoming) }
        end
      end
    end
  end
end
