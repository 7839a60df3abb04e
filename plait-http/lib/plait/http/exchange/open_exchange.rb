# frozen_string_literal: true

require "plait/mechanisms/base"
require_relative "../exchange"
require_relative "streamed_body"

module Plait
  module HTTP
    # A call whose response is for its caller before its body is read, without a block around it.
    class OpenExchange < Exchange
      # A connection outside of the pool until it is given back, once.
      class Checkout
        # @return [Wire, nil] nil: it was given back
        attr_reader :wire

        def initialize(connections)
          @connections = connections
        end

        # Apart from `new`: an interrupt as that returns would lose the connection.
        # @see Connections#checkout
        def take(*where, **how) = @connections.checkout(*where, **how) { |wire| @wire = wire }

        # A connection that can be used again is kept, any other one is closed.
        def end
          Uninterruptible.run do
            wire = @wire
            @wire = nil
            @connections.checkin(wire) if wire
          end
        end

        # @return [Proc] for the finalizer of a response that was left open. It may run while the pool's lock is held, so a
        #   thread of its own takes that lock.
        def finalizer
          checkout = self
          lambda do
            Thread.new { checkout.end } if checkout.wire
          rescue ThreadError
            nil # the process ends
          end
        end
      end

      # Ends the checkout with the body, however it ends.
      class Body < StreamedBody
        attr_writer :checkout, :owner

        def check
          raise UsageError, "the body of this response was read or closed before" if @over
        end

        def each(&block)
          super
          @owner.trailers = @response.trailers
          @owner.durations = @response.durations
        ensure
          close
        end

        def close
          super
          @checkout.end
        end

        # The caller is done with it.
        def finish
          drop unless @over
        ensure
          @checkout.end
        end
      end

      # @return [Response] whose body is not read yet
      def open = stream(&:itself)

      private

      def on_wire
        checkout = @checkout = Checkout.new(@client.connections)
        checkout.take(@message.route, @timeouts, @deadline, renew: @attempts.renew?)
        value = yield checkout.wire
        lent = value.is_a?(Array) && value.first
        value
      rescue ConnectionClosed
        @attempts.stale if checkout.wire && @client.connections.stale?(checkout.wire)
        raise
      ensure
        checkout&.end unless lent
      end

      def streamed(wire, head, _consumer)
        response = identify(wire.open(head, @message.body, @message.kind, @timeouts, @deadline))
        source = Body.new(wire, response, decoding(response)) { |error| explained(error) }
        source.checkout = @checkout
        again = judge(response)
        return [nil, again].tap { source.finish } if again

        [lend(response, source), nil]
      end

      # The connection knows the response whose body it reads, so the caller gets another one: this one can be forgotten.
      def lend(response, source)
        settle(response.class.copy(response)).tap do |own|
          own.source = source
          source.owner = own
          MainRactor::Finalizer.define(own, @checkout.finalizer)
        end
      end
    end
    private_constant :OpenExchange
  end
end
