# frozen_string_literal: true

require_relative "../../rulebook"
require_relative "framing"

module Plait
  module Protocols
    module HTTP1
      module Pure
        # Chunks, each with its length before it (RFC 9112 §7.1); twin of http1_body.c.
        class ChunkedBody
          # A line that needs no second look.
          PLAIN_LINE = /\G(\h{1,15})\r\n/n

          def initialize(limits)
            @limits = limits
            @room = limits.chunk_extensions
            @total = 0
            @left = 0
            @trailers = TrailerSection.new(limits)
            begin_line
          end

          def next(bytes, at)
            until at == bytes.bytesize || @state == :over
              return data(bytes, at) if @state == :data

              at = send(@state, bytes, at)
            end
            [@state == :over ? :done : :more, nil, at]
          end

          def unfinished = (:truncated_chunked unless @state == :over)

          def trailers = @trailers.fields

          # @return [Boolean] whether only a lenient reader takes it: the connection has no next message
          def pardoned? = @pardoned || @trailers.pardoned? || false

          private

          def begin_line
            @line = nil
            @state = :line
          end

          # Each state takes what it can from `at` on, and gives where the next byte is.

          def line(bytes, at)
            plain = @line.nil? && bytes.match(PLAIN_LINE, at)
            return begin_chunk(plain[1].hex, plain.end(0)) if plain

            @line ||= ChunkLine.new(@room, @limits.lenient?)
            return at + 1 unless @line.take(bytes.byteslice(at), at)

            @pardoned ||= @line.pardoned?
            @room = @line.room
            begin_chunk(@line.size, at + 1)
          end

          def begin_chunk(size, after)
            raise Broken.new(:body_limit, after - 1) if @limits.body && @total + size > @limits.body

            @total += size
            @left = size
            @state = size.zero? ? :trailer_section : :data
            after
          end

          def data(bytes, at)
            data = bytes.byteslice(at, [@left, bytes.bytesize - at].min)
            @left -= data.bytesize
            @state = :chunk_cr if @left.zero?
            [:data, data, at + data.bytesize]
          end

          def chunk_cr(bytes, at)
            byte = bytes.byteslice(at)
            if byte == "\n" && @limits.lenient?
              @pardoned = true
              return chunk_lf(bytes, at)
            end
            raise Broken.new(:chunk_end, at) unless byte == "\r"

            @state = :chunk_lf
            at + 1
          end

          def chunk_lf(bytes, at)
            raise Broken.new(:chunk_end, at) unless bytes.byteslice(at) == "\n"

            begin_line
            at + 1
          end

          def trailer_section(bytes, at)
            @state = :over if @trailers.take(bytes.byteslice(at), at)
            at + 1
          end
        end

        # The line before a chunk, byte by byte: a size, and extensions that are checked and dropped (RFC 9112 §7.1).
        class ChunkLine
          LONGEST_SIZE = 16
          LARGEST_SIZE = (1 << 63) - 1
          KINDS = { " " => :blank, "\t" => :blank, ";" => :semicolon, "=" => :equals, '"' => :quote, "\\" => :backslash,
                    "\r" => :return }.freeze
          # What may stand inside of quotes, and what may follow a backslash there.
          QUOTED = %i[blank token semicolon equals other].to_h { |kind| [kind, :quotes] }.freeze
          # *( BWS ";" BWS name [ BWS "=" BWS ( token / quoted-string ) ] ), RFC 9112 §7.1.1
          NEXT = {
            after_blank: { blank: :after_blank, semicolon: :name_begin },
            name_begin: { blank: :name_begin, token: :name },
            name: { blank: :after_name, token: :name, semicolon: :name_begin, equals: :value_begin, return: :end },
            after_name: { blank: :after_name, semicolon: :name_begin, equals: :value_begin },
            value_begin: { blank: :value_begin, token: :value, quote: :quotes },
            value: { blank: :after_blank, token: :value, semicolon: :name_begin, return: :end },
            quotes: { quote: :after_quotes, backslash: :escape, **QUOTED },
            escape: { quote: :quotes, backslash: :quotes, **QUOTED },
            after_quotes: { blank: :after_blank, semicolon: :name_begin, return: :end }
          }.freeze

          # @param room [Integer] bytes of extensions that are left of the limit
          # @param lenient [Boolean] whether it may end with LF alone, or with blanks
          def initialize(room, lenient)
            @room = room
            @lenient = lenient
            @digits = +""
            @state = :size
          end

          # @return [Integer] bytes of extensions that are left of the limit
          attr_reader :room

          # @return [Boolean] see ChunkedBody
          def pardoned? = @pardoned || false

          def size = @digits.hex

          # @param at [Integer] where it stands
          # @return [Boolean] whether it was the line's last
          # @raise [Broken]
          def take(byte, at)
            return finish(byte, at) if @state == :end
            return @pardoned = true if byte == "\n" && @lenient && may_end?

            @state == :size ? take_size(byte, at) : take_extension(byte, at)
            false
          end

          private

          def finish(byte, at)
            raise Broken.new(:bare_cr, at) unless byte == "\n"

            true
          end

          # @return [Boolean] whether the line is complete but for its end
          def may_end?
            return !@digits.empty? if @state == :size

            @state == :after_blank || NEXT.fetch(@state).key?(:return)
          end

          def take_size(byte, at)
            return take_digit(byte, at) if byte.match?(/\h/n)

            raise Broken.new(:bare_lf, at) if byte == "\n"
            raise Broken.new(:chunk_size, at) if @digits.empty? || !"\r; \t".include?(byte)

            @state = { "\r" => :end, ";" => :name_begin }.fetch(byte, :after_blank)
            count(at) unless byte == "\r"
          end

          def take_digit(byte, at)
            too_long = @digits.size == LONGEST_SIZE || "#{@digits}0".hex > LARGEST_SIZE
            raise Broken.new(:chunk_size_overflow, at) if too_long

            @digits << byte
          end

          def take_extension(byte, at)
            return end_after_blank if byte == "\r" && @lenient && @state == :after_blank

            @state = NEXT.fetch(@state)[kind(byte)]
            raise Broken.new(byte == "\n" ? :bare_lf : :chunk_extension, at) unless @state

            count(at) unless @state == :end
          end

          def end_after_blank
            @pardoned = true
            @state = :end
          end

          def kind(byte)
            KINDS.fetch(byte) do
              case byte
              when /[!#$%&'*+\-.^_`|~0-9A-Za-z]/n then :token
              when /[\x21-\x7e\x80-\xff]/n then :other
              end
            end
          end

          def count(at)
            raise Broken.new(:chunk_extensions_limit, at) if @room.zero?

            @room -= 1
          end
        end

        # The fields after the last chunk, byte by byte (RFC 9112 §7.1.2).
        class TrailerSection
          TOKEN_BYTE = /[!#$%&'*+\-.^_`|~0-9A-Za-z]/n
          CONTROL_BYTE = /[\x00-\x08\x0b-\x1f\x7f]/n

          def initialize(limits)
            @limits = limits
            @text = "".b
            @count = 0
            @state = :begin
          end

          # @param at [Integer] where it stands
          # @return [Boolean] whether it was the message's last
          # @raise [Broken]
          def take(byte, at)
            return finish(byte, at) if @state == :last
            return @pardoned = true if byte == "\n" && @state == :begin && @limits.lenient?

            last = @state == :begin && byte == "\r"
            last ? @state = :last : take_of_field(byte, at)
            false
          end

          # @return [Boolean] see ChunkedBody
          def pardoned? = @pardoned || false

          def fields
            at = 0
            @text.split("\r\n").map do |line|
              field = Field.parse(line, at)
              at += line.bytesize + 2
              field
            end
          end

          private

          def take_of_field(byte, at)
            raise Broken.new(:trailer_limit, at) if @text.bytesize == @limits.trailer

            @text << byte
            rule = send(@state, byte)
            raise Broken.new(rule, at) if rule
          end

          def finish(byte, at)
            raise Broken.new(:bare_cr, at) unless byte == "\n"

            true
          end

          # Each takes a byte and gives the rule that it breaks.

          def begin(byte)
            return beginning_error(byte) unless byte.match?(TOKEN_BYTE)
            return :headers_limit if @count == @limits.headers

            @count += 1
            @state = :name
            nil
          end

          def beginning_error(byte)
            return @count.zero? ? :leading_space : :obs_fold if " \t".include?(byte)

            byte == ":" ? :empty_name : unexpected(byte, :field_name)
          end

          def name(byte)
            return if byte.match?(TOKEN_BYTE)
            return :space_in_name if " \t".include?(byte)
            return :no_colon if byte == "\r"
            return unexpected(byte, :field_name) unless byte == ":"

            @state = :value
            nil
          end

          def value(byte)
            return unexpected(byte, nil) unless byte == "\r"

            @state = :line_end
            nil
          end

          def line_end(byte)
            return :bare_cr unless byte == "\n"

            @state = :begin
            nil
          end

          def unexpected(byte, otherwise)
            return :bare_lf if byte == "\n"

            byte.match?(CONTROL_BYTE) ? :control : otherwise
          end
        end

        # As many bytes as Content-Length says.
        class LengthBody
          def initialize(length)
            @left = length
          end

          def next(bytes, at)
            return [:done, nil, at] if @left.zero?

            # What is left may be more than a size of JRuby's holds.
            data = bytes.byteslice(at, [@left, bytes.bytesize - at].min)
            return [:more, nil, at] if data.empty?

            @left -= data.bytesize
            [:data, data, at + data.bytesize]
          end

          def unfinished = (:truncated_length if @left.positive?)

          def trailers = []
        end

        # All bytes until the connection is closed.
        class CloseBody
          # @param limit [Integer, nil] bytes
          def initialize(limit)
            @room = limit
          end

          def next(bytes, at)
            data = bytes.byteslice(at, [@room, bytes.bytesize - at].compact.min)
            raise Broken.new(:body_limit, at) if data.empty? && bytes.bytesize > at
            return [:more, nil, at] if data.empty?

            @room -= data.bytesize if @room
            [:data, data, at + data.bytesize]
          end

          def unfinished = nil

          def trailers = []
        end

        # The message ends with its head. Also the contract of the bodies.
        class EmptyBody
          # @param bytes [String] binary
          # @param at [Integer] of the first byte that wasn't consumed
          # @return [Array(Symbol, String, Integer)] :data, :done or :more; the data; where the first byte not consumed is
          # @raise [Broken]
          def next(_bytes, at) = [:done, nil, at]

          # At the end of the input.
          #
          # @return [Symbol, nil] the rule that is broken when the message ends here
          def unfinished = nil

          def trailers = []
        end
      end
    end
  end
end
