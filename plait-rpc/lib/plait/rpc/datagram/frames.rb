# frozen_string_literal: true

require "plait/io/datagrams"
require "plait/io/gather"
require_relative "../../protocols/messagepack_rpc"

module Plait
  module RPC
    module Datagram
      # A Protocols::MessagePackRPC::Writer whose messages leave one by one, each in a datagram of its own.
      class Frames
        # Bytes of a message at most.
        LONGEST = Io::Datagrams::LONGEST

        # @return [Integer] of messages that were not taken yet
        attr_reader :bytesize

        # @param raw [Boolean] for old peers
        def initialize(raw: false)
          @writer = Protocols::MessagePackRPC::Writer.new(raw: raw)
          clear
        end

        # @return [self]
        # @raise [Protocols::MessagePackRPC::PackError] it is too long for a datagram; nothing was added
        def request(...) = add("the request") { @writer.request(...) }

        # @return (see #request)
        # @raise (see #request)
        def notification(...) = add("the notification") { @writer.notification(...) }

        # @return (see #request)
        # @raise (see #request)
        def response(...) = add("the answer") { @writer.response(...) }

        # @return (see #request)
        # @raise (see #request)
        def error(...) = add("the error") { @writer.error(...) }

        # @return [Boolean]
        def empty? = @frames.empty?

        # @return [Array<String>] the messages
        def take
          frames = @frames
          clear
          frames
        end

        # @return [void]
        def clear
          @frames = []
          @bytesize = 0
        end

        private

        def add(what)
          yield
          frame = Io::Gather.join(@writer.take)
          raise Protocols::MessagePackRPC::PackError, too_long(what, frame.bytesize) if frame.bytesize > LONGEST

          @frames << frame
          @bytesize += frame.bytesize
          self
        end

        def too_long(what, size)
          "#{what} has #{size} bytes, and a datagram takes #{LONGEST}: use tcp:// or unix:// for what is large"
        end
      end
    end
  end
end
