# frozen_string_literal: true

require "zlib"
require_relative "fault"
require_relative "inflater"

module Plait
  module HTTP
    module Codings
      # RFC 1952: one member or several, one behind the other. Their checksums and lengths are verified.
      class Gzip
        MAGIC = "\x1f\x8b".b.freeze
        WRAPPER = Zlib::MAX_WBITS + 16
        private_constant :MAGIC, :WRAPPER

        def initialize
          @inflater = Inflater.new(WRAPPER)
          @between = true # members
        end

        # @param bytes [String]
        # @yieldparam piece [String]
        # @return [void]
        def decode(bytes, &block)
          bytes = decode_member(bytes, &block) until bytes.nil? || bytes.empty?
        end

        # @return [Boolean] whether the data may end here. A body of no bytes at all is one of an answer that has none.
        def complete? = @between

        # @return [void]
        def close = @inflater.close

        private

        # @return [String, nil] what is behind the member; nil: it goes on
        def decode_member(bytes, &block)
          check_beginning(bytes) if @members
          @between = false
          rest = @inflater.feed(bytes, &block) or return
          @inflater.reset
          @members = @between = true
          rest
        end

        # What Zlib says of the first member is clear enough.
        def check_beginning(bytes)
          return unless @between

          raise Fault, "there are bytes behind its end" unless MAGIC.start_with?(bytes.byteslice(0, 2).b)
        end
      end
    end
  end
end
