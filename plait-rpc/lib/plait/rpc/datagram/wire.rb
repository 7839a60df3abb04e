# frozen_string_literal: true

require_relative "../pure_wire"
require "plait/io/datagrams"

module Plait
  module RPC
    module Datagram
      # The datagrams of a client: each message is one.
      class Wire < PureWire
        # @return [Integer] bytes of the datagram that came last
        attr_reader :size

        # Takes one datagram into the parser, without waiting.
        # @return [Integer, nil] bytes of it, 0 when there is none now, nil when nobody is there (then see {#failure})
        def receive
          Thread.handle_interrupt(NEVER) do
            datagram = @io.recv_nonblock(Io::Datagrams::ROOM, exception: false)
            next 0 if datagram.nil? || datagram.is_a?(Symbol)

            @parser.reset
            @size = take(datagram)
          end
        rescue *@breaks => e
          @failure = e
          nil
        end

        # @param frames [Array<String>] each for a datagram of its own
        # @return [self]
        def push(frames)
          @pushed += frames.sum(&:bytesize)
          @pieces.concat(frames)
          self
        end
      end
    end
  end
end
