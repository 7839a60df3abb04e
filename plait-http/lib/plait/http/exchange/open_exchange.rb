# frozen_string_literal: true

require "plait/values/errors"
require "plait/values/uninterruptible"
require_relative "../exchange"
require_relative "../response"
require_relative "streamed_body"

module Plait
  module HTTP
    # A call whose response is for its caller before its body is read, without a block around it.
    class OpenExchange < Exchange
      # A connection outside of the pool until it is given back, once.
      class Lease
        # @return [Wire, nil] nil: it was given back
        attr_reader :wire

        # Arguments of {Connections#checkout}.
        def initialize(connections, *where, **how)
          @connections = connections
          connections.checkout(*where, **how) { |wire| @wire = wire }
        end

        # A connection that can be used again is kept, any other one is closed.
        def end
          Uninterruptible.run do
            wire = @wire
            @wire = nil
            @connections.checkin(wire) if wire
          end
        end

        # @return [Proc] the finalizer of a response that was left open. It may run while the pool's lock is held, so a thread of
        #   its own takes that lock.
        def finalizer
          lease = self
          lambda do |_|
            Thread.new { lease.end } if lease.wire
          rescue ThreadError
            nil # the process ends
          end
        end
      end

      # Ends the lease with the body, however it ends.
      class Body < StreamedBody
        attr_writer :lease, :owner

        def each(&block)
          raise UsageError, "the body of this response was read or closed before" if @over

          super
          @owner.trailers = @response.trailers
          @owner.durations = @response.durations
        ensure
          close
        end

        def close
          super
          @lease.end
        end

        # The caller is done with it.
        def finish
          drop unless @over
        ensure
          @lease.end
        end
      end
      private_constant :Lease, :Body

      # @return [Response] whose body is not read yet
      # @raise [Error]
      def open = stream(&:itself)

      private

      def on_wire
        lease = @lease = Lease.new(@client.connections, @message.route, @timeouts, @deadline, renew: @attempts.renew?)
        value = yield lease.wire
        lent = value.is_a?(Array) && value.first
        value
      rescue ConnectionClosed
        @attempts.stale if lease && @client.connections.stale?(lease.wire)
        raise
      ensure
        lease&.end unless lent
      end

      def streamed(wire, head, _consumer)
        response = identify(wire.open(head, @message.body, @message.kind, @timeouts, @deadline))
        source = Body.new(wire, response, decoding(response)) { |error| explained(error) }
        source.lease = @lease
        again = judge(response)
        return [nil, again].tap { source.finish } if again

        [lend(response, source), nil]
      end

      # The connection knows the response whose body it reads, so the caller gets another one: this one can be forgotten.
      def lend(response, source)
        settle(response.class.copy(response)).tap do |own|
          own.source = source
          source.owner = own
          ObjectSpace.define_finalizer(own, @lease.finalizer)
        end
      end
    end
    private_constant :OpenExchange
  end
end
