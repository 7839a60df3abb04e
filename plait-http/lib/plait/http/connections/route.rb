# frozen_string_literal: true

module Plait
  module HTTP
    class Connections
      # Where the requests to one origin go, and what a plain GET of it needs, made once.
      class Route
        SLASH = "/".ord
        QUESTION_MARK = "?".ord
        HASH = "#".ord
        private_constant :SLASH, :QUESTION_MARK, :HASH

        # @return [Origin]
        attr_reader :origin
        # @return [String] how its URLs begin
        attr_reader :prefix
        # @return [Integer] where in its URLs the target begins
        attr_reader :offset
        # @return [String, nil] the head of a plain GET without its first line; nil: there is nothing plain about it
        attr_reader :block
        # @return [Proxy, nil]
        attr_reader :proxy

        # @param origin [Origin]
        # @param prefix [String] how its URLs begin
        # @param proxy [Proxy, nil]
        # @yieldreturn [String, nil] the {block}, where there is no proxy that wants another head
        def initialize(origin, prefix = origin.prefix, proxy: nil)
          @origin = origin
          @prefix = prefix
          @offset = prefix.bytesize
          @proxy = proxy
          @block = yield unless forwarded?
          freeze
        end

        # @return [Boolean] whether it is for this URL, and nothing in it needs a closer look
        def serves?(url)
          return false unless url.start_with?(@prefix)

          next_byte = url.getbyte(@offset)
          next_byte == SLASH || next_byte.nil? || next_byte == QUESTION_MARK || next_byte == HASH
        end

        # @return [Boolean] whether a plain GET can go without a {Request}
        def plain? = !@block.nil?

        # @return [Boolean] whether requests are for the proxy to read: they name the whole URL (RFC 9112 §3.2.2)
        def forwarded? = @proxy ? @proxy.absolute_form?(@origin) : false

        def inspect = "#<#{self.class} #{@origin}#{" by way of #{@proxy}" if @proxy}>"
      end
    end
  end
end
