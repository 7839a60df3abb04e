# frozen_string_literal: true

require_relative "../../values/errors"

module Plait
  module HTTP
    module HTTP2
      # Looks at the heads of frames (RFC 9113 §4.1) before the gem does, which waits for all of a frame before it finds that
      # it is too large: of a peer that speaks something else it would wait for megabytes.
      class FrameGuard
        HEAD = 9
        SETTINGS = 4
        private_constant :HEAD, :SETTINGS

        # @param largest [Integer] bytes of a frame, its head not counted
        def initialize(largest)
          @largest = largest
          @head = String.new(capacity: HEAD, encoding: Encoding::BINARY)
          @left = 0
        end

        # @param bytes [String] received
        # @return [void]
        # @raise [RemoteProtocolError]
        def check(bytes)
          at = 0
          at += @left.zero? ? take_head(bytes, at) : pass(bytes.bytesize - at) while at < bytes.bytesize
        end

        private

        # @return [Integer] bytes
        def pass(count)
          passed = [@left, count].min
          @left -= passed
          passed
        end

        # @return [Integer] bytes
        def take_head(bytes, at)
          part = bytes.byteslice(at, HEAD - @head.bytesize)
          @head << part
          begin_frame if @head.bytesize == HEAD
          part.bytesize
        end

        def begin_frame
          high, low, type = @head.unpack("CnC")
          @left = (high << 16) | low
          raise broken("it began with #{@head.inspect}, which is no SETTINGS frame", "§3.4") unless @begun || type == SETTINGS
          raise broken("a frame of #{@left} bytes, where #{@largest} are allowed", "§4.2") if @left > @largest

          @begun = true
          @head.clear
        end

        def broken(what, section)
          RemoteProtocolError.new("the peer broke HTTP/2: #{what}", rule: :http2_frame, section: "RFC 9113 #{section}")
        end
      end
    end
  end
end
