# frozen_string_literal: true

require_relative "violation"

module Plait
  class Server
    module HTTP2
      # The fields of one head while their frames come: HEADERS, and CONTINUATION as often as the peer likes, were it not for
      # these limits (CVE-2024-27316).
      class HeaderBlock
        # CONTINUATION frames.
        PARTS = 32

        # @return [Integer] of the stream
        attr_reader :id
        # @return [String] compressed
        attr_reader :bytes

        # @param last [Boolean] whether the stream ends with it
        # @param itself [Boolean] whether the stream is said to depend on itself
        # @param largest [Integer] bytes, compressed
        def initialize(id, bytes, last:, itself:, largest:)
          @id = id
          @bytes = "".b
          @last = last
          @itself = itself
          @largest = largest
          @parts = -1
          add(bytes)
        end

        def last? = @last

        def on_itself? = @itself

        # @param bytes [String]
        # @return [void]
        # @raise [Violation]
        def add(bytes)
          @parts += 1
          @bytes << bytes
          return if @parts <= PARTS && @bytes.bytesize <= @largest

          raise Violation.new(:enhance_your_calm, "a header block of #{@bytes.bytesize} bytes in #{@parts + 1} frames", "§10.5.1")
        end
      end
    end
  end
end
