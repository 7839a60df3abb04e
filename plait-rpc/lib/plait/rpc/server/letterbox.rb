# frozen_string_literal: true

require_relative "peer"
require_relative "../datagram/reply"
require_relative "../incoming"
require "plait/io/datagrams"
require_relative "../../protocols/messagepack_rpc"
require "plait/values/errors"

module Plait
  module RPC
    class Server
      # Takes what comes by datagrams, each a request or a notification. What is neither is dropped, and reported; its sender is
      # not answered: the address may be somebody else's.
      class Letterbox
        # @param datagrams [Io::Datagrams]
        # @param options [Options]
        # @param dispatcher [Dispatcher]
        # @param crew [Crew]
        def initialize(datagrams, options, dispatcher, crew)
          @datagrams = datagrams
          @options = options
          @dispatcher = dispatcher
          @crew = crew
          @peer = Peer.new
          @parser = Protocols::MessagePackRPC::Parser.new(limits: options.limits, large: nil)
        end

        # Takes datagrams until it is closed.
        # @return [void]
        def run = @datagrams.each { |bytes, sender| take(bytes, sender) }

        # Who comes late is told so.
        # @return [void]
        def turn_away = nil

        # @return [void]
        def close = @datagrams.close

        # @return [Boolean] whether somebody waits for an answer
        def busy? = @peer.in_flight.positive? || @peer.owed.positive?

        private

        def take(bytes, sender)
          @parser.reset.feed(bytes)
          return @dispatcher.report(stray) unless asks?(@parser.next_event, bytes)

          reply = Datagram::Reply.new(@datagrams, sender, codec: @options.codec, session: @peer, raw: @options.raw)
          @dispatcher.take(Incoming.new(reply, @parser.id, @parser.method_name, @parser.params))
          @crew.call
        rescue RemoteProtocolError => e
          @dispatcher.report(e)
        end

        def asks?(event, bytes) = %i[request notification].include?(event) && @parser.bytesize == bytes.bytesize

        def stray = RemoteProtocolError.new("a datagram to #{@datagrams.endpoint} is not one request or notification")
      end
    end
  end
end
