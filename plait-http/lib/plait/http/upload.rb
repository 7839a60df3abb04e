# frozen_string_literal: true

require "stringio"

module Plait
  module HTTP
    # The body of a request: how long it is, and its bytes as they are sent, with Content-Length where the length is known
    # and chunked (RFC 9112 §7.1) where it isn't. Of a file or a stream there is never more in memory than a piece.
    class Upload
      # One interface for every kind of body: `size` (bytes, or nil when that is not known), `each`
      # (Strings that are not empty, from the beginning, each until the block returns) and `replayable?`.
      module Source
        module_function

        def for(object)
          case object
          when String then Text.new(object)
          when Hash then raise UsageError, "a Hash is no body: give it as form:, json: or multipart:"
          else wrap(object) or raise UsageError, unfit(object)
          end
        end

        def wrap(object)
          return object if object.respond_to?(:replayable?)

          refuse_path(object)
          return Reader.new(object) if object.respond_to?(:read)

          Sequence.new(object) if object.respond_to?(:each)
        end

        # Each read of a path starts again at its beginning.
        # @raise [UsageError]
        def refuse_path(object)
          path = object.is_a?(Dir) || (defined?(::Pathname) && object.is_a?(::Pathname))
          raise UsageError, "#{object.inspect[0, 80]} is a path and no body: give File.open(path)" if path
        end

        def unfit(object)
          "#{object.inspect[0, 40]} is no body: give a String, an IO, something with #read, or an Enumerable of Strings"
        end
      end

      # An Enumerable of Strings, asked for the next one when the last was sent. An Array is known in advance, and can be
      # sent again.
      class Sequence
        # @return [Integer, nil] bytes
        attr_reader :size

        # @raise [UsageError]
        def initialize(strings)
          @strings = strings
          @size = strings.sum { |string| checked(string).bytesize } if replayable?
        end

        # @raise [UsageError] for an element that is no String; the second time, unless it is an Array
        def each
          raise UsageError, "#{@strings.class}: its Strings were sent once; of an Array they can be sent again" if used?

          @strings.each { |string| yield string unless checked(string).empty? }
        end

        def replayable? = @strings.is_a?(Array)

        private

        def used? = !replayable? && @used.tap { @used = true }

        def checked(string)
          return string if string.is_a?(String)

          raise UsageError, "a body can't be sent: #{@strings.class}#each gave a #{string.class}, not a String"
        end
      end

      # A file, a pipe, or anything with #read, from where it stands. The length and the position of a file are
      # remembered when it is given, so that the announced bytes are sent.
      class Reader
        # Bytes read at once.
        PIECE = 64 * 1024

        # @return [Integer, nil] bytes; nil where only reading tells
        attr_reader :size

        # @raise [IOError] when it is closed, or not open for reading
        def initialize(io)
          @io = io
          return unless file? || io.is_a?(StringIO)

          @start = io.pos
          @size = length
        end

        # @yieldparam piece [String] of 64 KiB at most, until the block returns
        # @raise [LocalProtocolError] when the file has become shorter since it was given
        # @raise [UsageError] the second time, unless {replayable?}
        def each(&block)
          go_back if @used || @start
          @used = true
          @size ? read_known(&block) : read_all(&block)
        end

        # @return [Boolean] whether it can be read again from where it stood
        def replayable? = !@start.nil?

        private

        # Of a FIFO or a terminal File is the class too. Others with a #size may mean characters, or what it was before
        # they decoded it.
        def file? = @io.is_a?(File) ? @io.stat.file? : defined?(::Tempfile) && @io.is_a?(::Tempfile)

        # Files of /proc say that they are empty.
        def length
          size = @io.size - @start
          return size if size.positive?

          @io.eof? ? 0 : nil
        end

        def go_back
          raise UsageError, "a #{@io.class} was read once and can't be sent again: give a file, or a String" unless @start

          @io.seek(@start)
        end

        # A file that grows is sent as long as it was. All pieces are one String: a new one for each takes three times as long,
        # for its memory.
        def read_known
          left = @size
          piece = String.new(capacity: [PIECE, left].min, encoding: Encoding::BINARY)
          while left.positive?
            @io.read([PIECE, left].min, piece) or raise LocalProtocolError.new(too_short(left), rule: :content_length)
            left -= piece.bytesize
            yield piece
          end
        end

        def too_short(left)
          "#{@io.inspect} has become shorter while it was sent: #{left} of the #{@size} bytes that were announced are missing"
        end

        def read_all
          while (piece = read_some)
            yield piece
          end
        end

        # Of a pipe or a socket the bytes that are there, without waiting for 64 KiB.
        def read_some
          return @io.readpartial(PIECE) if @io.is_a?(IO)

          piece = @io.read(PIECE)
          return piece if piece.nil? || (piece.is_a?(String) && !piece.empty?)

          raise UsageError, "a body can't be sent: #{@io.class}#read(#{PIECE}) gave #{piece.inspect[0, 40]}, which is neither " \
                            "bytes nor nil, its end"
        rescue EOFError
          nil
        end
      end

      # A String: its bytes, in any encoding.
      class Text
        attr_reader :string

        def initialize(string)
          @string = string
        end

        # @return [Integer] bytes
        def size = @string.bytesize

        def each = (yield @string unless @string.empty?)

        def replayable? = true
      end

      # Bytes of a chunk.
      CHUNK = 64 * 1024

      class << self
        # @param body [String, IO, #read, Enumerable<String>, Multipart] an IO is sent from where it stands; it is not closed
        # @param chunked [Boolean, nil] nil: where the length is not known; true: always; false: never, where the
        #   protocol frames the pieces itself (HTTP/2)
        # @raise [UsageError] for an object that is no body
        def wrap(body, chunked: nil) = body.is_a?(Upload) ? body : new(Source.for(body), chunked: chunked)
      end

      # @return [Integer, nil] bytes, for Content-Length; nil when it is not known, or chunked was asked for
      attr_reader :size

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
      # @raise [UsageError] the second time, unless {replayable?}
      # @raise [LocalProtocolError] when it turns out to be longer or shorter than was announced: the peer would take what
      #   follows for the next request, or the next request for the rest
      def each(&block)
        if @chunked then in_chunks(&block)
        elsif @size then measured(&block)
        else @source.each(&block)
        end
      end

      # @return [String, Upload] the bytes to send: one String where it is one
      def body = !@chunked && @source.respond_to?(:string) ? @source.string : self

      # @return [Upload] the same, not framed: where the protocol frames the pieces itself (HTTP/2)
      def plain = @chunked ? Upload.new(@source, chunked: false) : self

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
        0.step(piece.bytesize - 1, CHUNK) { |at| yield Protocols::HTTP1::Serializer.chunk(piece.byteslice(at, CHUNK)) }
      end
    end
    private_constant :Upload
  end
end
