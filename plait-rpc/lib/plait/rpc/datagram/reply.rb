# frozen_string_literal: true

require_relative "frames"
require "plait/io/endpoint"
require "plait/values/errors"

module Plait
  module RPC
    module Datagram
      # The way back to the sender of one datagram: what a {Connection} is to a message that came by one.
      class Reply
        # @return [Protocols::MessagePackRPC::Codec]
        attr_reader :codec
        # @return [Object] the owner's own word about all who send datagrams
        attr_reader :session

        # @param datagrams [Io::Datagrams]
        # @param sender [Addrinfo]
        # @param codec [Protocols::MessagePackRPC::Codec]
        # @param session [Object]
        # @param raw [Boolean] see {Frames}
        def initialize(datagrams, sender, codec:, session:, raw:)
          @datagrams = datagrams
          @sender = sender
          @codec = codec
          @session = session
          @raw = raw
        end

        # @return [Io::Endpoint] as the datagram says
        def endpoint = Io::Endpoint.new(:udp, @sender.ip_address, @sender.ip_port)

        # @raise [Protocols::MessagePackRPC::PackError] it can't be packed, or is too long; nothing was sent
        # @return [void]
        def respond(id, result, **) = send_frame { |frames| frames.response(id, @codec.pack(result)) }

        # @raise (see #respond)
        # @return [void]
        def respond_error(id, error, data = nil, **)
          about = [@codec.pack(data)] unless data.nil?
          send_frame { |frames| frames.error(id, @codec.pack(error), *about) }
        end

        # Notifies the sender.
        # @raise (see #respond)
        # @return [void]
        def notify(method, arguments, **) = send_frame { |frames| frames.notification(method, @codec.pack(arguments)) }

        # @raise [UnsupportedError]
        def request(method, *, **)
          raise UnsupportedError, "#{method}: nobody waits for the answer of who has sent a datagram; call him by a client"
        end
        alias call request

        # @!group As a connection at rest

        # @return [Integer]
        def unsent = 0

        # @return [Integer]
        def pending = 0

        # @return [nil] nothing comes in chunks
        def streaming = nil

        # @return [Boolean]
        def congested? = false

        # @return [Boolean]
        def closed? = false

        # @return [true]
        def flush = true

        private

        def send_frame
          frames = Frames.new(raw: @raw)
          yield frames
          frames.take.each { |frame| @datagrams.deliver(frame, @sender) }
        end
      end
    end
  end
end
