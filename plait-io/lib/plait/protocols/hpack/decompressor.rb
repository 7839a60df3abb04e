# frozen_string_literal: true

require_relative "huffman"
require_relative "table"

module Plait
  module Protocols
    module HPACK
      # Reads header blocks, with a table that they have in common.
      class Decompressor
        # Bytes of a number behind its first one: five are 35 bits (§5.1 lets us refuse more).
        LONGEST = 5

        # @param largest [Integer] bytes of a list of fields, as SETTINGS_MAX_HEADER_LIST_SIZE counts them
        def initialize(largest)
          @largest = largest
          @table = Table.new
          @texts = Huffman::Memory.new
        end

        # @param block [String] binary, whole
        # @return [Array<Array(String, String)>] binary and frozen
        # @raise [Error] after which no block can be read any more
        def decode(block)
          @block = block
          @at = @size = 0
          @fields = []
          read_field while @at < block.bytesize
          @fields
        end

        private

        # §6
        def read_field
          first = @block.getbyte(@at)
          if first >= 0x80 then keep(indexed(number(0x7f)))
          elsif first >= 0x40 then keep(literal(0x3f).tap { |field| @table << field })
          elsif first >= 0x20 then resize(number(0x1f))
          else keep(literal(0x0f))
          end
        end

        def keep(field)
          @fields << field
          @size += field[0].bytesize + field[1].bytesize + Table::OVERHEAD
          raise TooLarge, "the header list exceeds #{@largest} bytes" if @size > @largest
        end

        def indexed(number) = (number.positive? && @table[number]) || raise(Error, "the number #{number} is not in the table")

        def literal(mask)
          number = number(mask)
          [number.zero? ? text : indexed(number)[0], text].freeze
        end

        # The table may change its size before the first field only (§4.2).
        def resize(bytes)
          raise Error, "another size of the table behind a field" unless @fields.empty?
          raise Error, "a table of #{bytes} bytes" if bytes > Table::LIMIT

          @table.limit = bytes
        end

        # §5.1
        def number(mask)
          value = @block.getbyte(@at) & mask
          @at += 1
          value < mask ? value : value + longer_number
        end

        def longer_number
          value = 0
          LONGEST.times do |count|
            byte = @block.getbyte(@at) || cut
            @at += 1
            value |= (byte & 0x7f) << (7 * count)
            return value if byte < 0x80
          end
          raise Error, "a number of more than #{LONGEST} bytes"
        end

        # §5.2
        def text
          coded = (@block.getbyte(@at) || cut) >= 0x80
          size = number(0x7f)
          cut if @at + size > @block.bytesize
          bytes = @block.byteslice(@at, size)
          @at += size
          coded ? decoded(bytes) : bytes.freeze
        end

        def decoded(bytes) = @texts.fetch(bytes) { Huffman.decode(bytes).freeze }

        def cut = raise(Error, "a header block that ends too early")
      end
    end
  end
end
