# frozen_string_literal: true

require_relative "../../broken"

module Plait
  module Protocols
    module HTTP1
      module Pure
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
          def initialize(room)
            @room = room
            @digits = +""
            @state = :size
          end

          # @return [Integer] bytes of extensions that are left of the limit
          attr_reader :room

          # @return [Integer]
          def size = @digits.hex

          # @param byte [String]
          # @param at [Integer] where it stands
          # @return [Boolean] whether it was the line's last
          # @raise [Broken]
          def take(byte, at)
            return finish(byte, at) if @state == :end

            @state == :size ? take_size(byte, at) : take_extension(byte, at)
            false
          end

          private

          def finish(byte, at)
            raise Broken.new(:bare_cr, at) unless byte == "\n"

            true
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
            @state = NEXT.fetch(@state)[kind(byte)]
            raise Broken.new(byte == "\n" ? :bare_lf : :chunk_extension, at) unless @state

            count(at) unless @state == :end
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
      end
    end
  end
end
