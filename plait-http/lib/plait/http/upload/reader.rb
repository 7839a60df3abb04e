# frozen_string_literal: true

require "stringio"
require "plait/values/errors"

module Plait
  module HTTP
    class Upload
      # A file, a pipe, or anything with #read, from where it stands. What is known of a file (its length, where it stood)
      # is remembered when it is given, so that what is announced is what is sent.
      class Reader
        # Bytes read at once.
        PIECE = 64 * 1024

        # @return [Integer, nil] bytes; nil where only reading tells
        attr_reader :size

        # @param io [IO, #read]
        # @raise [IOError] when it is closed, or not open for reading
        def initialize(io)
          @io = io
          return unless file? || io.is_a?(StringIO)

          @start = io.pos
          @size = length
        end

        # @yieldparam piece [String] of 64 KiB at most
        # @return [void]
        # @raise [LocalProtocolError] when the file has become shorter since it was given
        # @raise [UsageError] the second time, unless {replayable?}
        def each(&block)
          go_back if @used
          @used = true
          @size ? read_known(&block) : read_all(&block)
        end

        # @return [Boolean] whether it can be read again from where it stood
        def replayable? = !@start.nil?

        private

        # Of a FIFO or a terminal File is the class too. Others with a #size may mean characters, or what it was before
        # they decoded it.
        def file?
          return @io.stat.file? if @io.is_a?(File)

          defined?(::Tempfile) && @io.is_a?(::Tempfile)
        end

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

        # A file that grows is sent as long as it was.
        def read_known
          left = @size
          while left.positive?
            piece = @io.read([PIECE, left].min) or raise LocalProtocolError.new(too_short(left), rule: :content_length)
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

        # Of a pipe or a socket what is there, not when 64 KiB are.
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
    end
  end
end
