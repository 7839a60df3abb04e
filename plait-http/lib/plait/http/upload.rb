# frozen_string_literal: true

require_relative "upload/source"
require "plait/protocols/http1"
require "plait/values/errors"

module Plait
  module HTTP
    # The body of a request: how long it is, and its bytes as they are sent, with Content-Length where the length is known
    # and chunked (RFC 9112 §7.1) where it isn't. Of a file or a stream there is never more in memory than a piece.
    #
    # @example
    #   length, body = Upload.wrap(File.open("photo.jpg"))   # => 1048576, what a wire sends
    class Upload
      # Bytes of a chunk.
      CHUNK = 64 * 1024

      class << self
        # @param body [String, IO, #read, Enumerable<String>, Multipart] an IO is sent from where it stands; it is not closed
        # @param chunked [Boolean, nil] nil: where the length is not known; true: always; false: never, where the
        #   protocol frames the pieces itself (HTTP/2)
        # @return [Upload] also `length, body = Upload.wrap(…)`
        # @raise [UsageError] for what is no body
        def wrap(body, chunked: nil) = body.is_a?(Upload) ? body : new(Source.for(body), chunked: chunked)
      end

      # @return [Integer, nil] bytes, for Content-Length; nil when it is not known, or chunked was asked for
      attr_reader :size

      # @param source [#size, #each, #replayable?]
      # @param chunked [Boolean, nil]
      # @api private
      def initialize(source, chunked: nil)
        @source = source
        @size = source.size unless chunked
        @chunked = chunked.nil? ? @size.nil? : chunked
      end

      # @return [Boolean] whether it needs Transfer-Encoding: chunked
      def chunked? = @chunked

      # @return [Boolean] whether it can be sent again, after a redirect or on another connection
      def replayable? = @source.replayable?

      # @return [String, nil] where the body itself knows it
      def content_type = @source.respond_to?(:content_type) ? @source.content_type : nil

      # @yieldparam piece [String] bytes as they are sent, not empty
      # @return [void]
      # @raise [UsageError] the second time, unless {replayable?}
      # @raise [LocalProtocolError] when it turns out to be longer or shorter than was announced: the peer would take what
      #   follows for the next request, or the next request for the rest
      def each(&block)
        if @chunked then in_chunks(&block)
        elsif @size then measured(&block)
        else @source.each(&block)
        end
      end

      # @return [String, Upload] what a wire sends: one String where it is one
      def body = !@chunked && @source.respond_to?(:string) ? @source.string : self

      # @return [Upload] the same, not framed: where the protocol frames the pieces itself (HTTP/2)
      def plain = @chunked ? Upload.new(@source, chunked: false) : self

      # @return [Array(Integer, String)] size and body
      def to_ary = [size, body]

      private

      def measured
        left = @size
        @source.each do |piece|
          left -= piece.bytesize
          raise wrong_size("more") if left.negative?

          yield piece
        end
        raise wrong_size("fewer") if left.positive?
      end

      def wrong_size(what)
        LocalProtocolError.new("the body has #{what} than the #{@size} bytes that it had said", rule: :content_length)
      end

      def in_chunks(&block)
        @source.each { |piece| chunks(piece, &block) }
        yield Protocols::HTTP1::Serializer.last_chunk
      end

      def chunks(piece)
        0.step(piece.bytesize - 1, CHUNK) do |at|
          yield Protocols::HTTP1::Serializer.chunk(piece.byteslice(at, CHUNK))
        end
      end
    end
  end
end
