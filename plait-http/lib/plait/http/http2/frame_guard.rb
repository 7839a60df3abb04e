# frozen_string_literal: true

require "plait/values/errors"

module Plait
  module HTTP
    module HTTP2
      # Looks at the heads of frames (RFC 9113 §4.1) before the gem does, which waits for all of a frame before it finds that
      # it is too large: of a peer that speaks something else it would wait for megabytes. A peer that only keeps us busy (RFC
      # 9113 §10.5) is told from one that answers.
      class FrameGuard
        HEAD = 9
        PRIORITY, SETTINGS, WINDOW_UPDATE = 2, 4, 8
        # DATA and HEADERS, unless they are empty.
        FRUITFUL = [0, 1].freeze
        # Frames in a row that bring nothing of an answer. An hour of a ping a second are fewer.
        FRUITLESS = 10_000
        # PRIORITY frames in all: no server needs them (§5.3.2), and the gem keeps a stream for each.
        PRIORITIES = 1_000
        private_constant :HEAD, :PRIORITY, :SETTINGS, :WINDOW_UPDATE, :FRUITFUL, :FRUITLESS, :PRIORITIES

        # @param largest [Integer] bytes of a frame, its head not counted
        def initialize(largest)
          @largest = largest
          @head = String.new(capacity: HEAD, encoding: Encoding::BINARY)
          @left = @fruitless = @priorities = 0
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

          count(type)
          @begun = true
          @head.clear
        end

        # Of a long body that goes out there is a WINDOW_UPDATE for every few bytes: it says nothing for or against the peer.
        def count(type)
          return if type == WINDOW_UPDATE

          @priorities += 1 if type == PRIORITY
          @fruitless = FRUITFUL.include?(type) && @left.positive? ? 0 : @fruitless + 1
          raise broken("more than #{FRUITLESS} frames in a row that bring nothing", "§10.5") if @fruitless > FRUITLESS
          raise broken("more than #{PRIORITIES} PRIORITY frames", "§10.5") if @priorities > PRIORITIES
        end

        def broken(what, section)
          RemoteProtocolError.new("the peer broke HTTP/2: #{what}", rule: :http2_frame, section: "RFC 9113 #{section}")
        end
      end
    end
  end
end
