# frozen_string_literal: true

require_relative "huffman"
require_relative "table"

module Plait
  module Protocols
    module HPACK
      # Writes header blocks, with a table that they have in common.
      class Compressor
        # Whose values mostly differ each time: in the table they would only push others out.
        CHANGING = %w[:path age content-length content-range etag if-modified-since if-none-match last-modified location].freeze
        # Secrets that a peer on the way must not be able to guess by the size of blocks (§7.1.3).
        SECRET = %w[authorization proxy-authorization set-cookie].freeze
        # Name => value => number in the static table; nil => the first number with that name.
        STATIC = Table::STATIC.each_with_index.with_object({}) do |((name, value), at), numbers|
          values = numbers[name] ||= { nil => at + 1 }
          values[value] ||= at + 1 unless value.empty?
        end.each_value(&:freeze).freeze
        # How a field is written that is not in the table => the first byte, and its bits that are left for a number (§6.2).
        ADDED = [0x40, 0x3f].freeze
        PLAIN = [0x00, 0x0f].freeze
        NEVER = [0x10, 0x0f].freeze
        WAYS = { **CHANGING.to_h { |name| [name, PLAIN] }, **SECRET.to_h { |name| [name, NEVER] } }.freeze

        # A table that knows the number of a field.
        class Index < Table
          def initialize
            super
            @places = {}
            @count = 0
          end

          def number(name, value)
            place = @places.dig(name, value)
            place && (LAST + @count - place)
          end

          def <<(field)
            (@places[field[0]] ||= {})[field[1]] = @count
            @count += 1
            super
          end

          private

          def evict
            place = @count - @fields.size
            name, value = super
            values = @places[name]
            values.delete(value) if values[value] == place
            @places.delete(name) if values.empty?
          end
        end

        def initialize
          @table = Index.new
          @texts = Huffman::Memory.new
        end

        # @param bytes [Integer] the peer's SETTINGS_HEADER_TABLE_SIZE
        def limit=(bytes)
          @lowest = [@lowest, @table.limit = [bytes, Table::LIMIT].min].compact.min
        end

        # @param fields [Array<Array(String, String)>] pseudo fields first
        # @return [String] binary
        def encode(fields)
          block = "".b
          write_limit(block) if @lowest
          fields.each { |name, value| write_field(block, name, value) }
          block
        end

        private

        # The lowest limit in between has emptied the peer's table, too (§4.2).
        def write_limit(block)
          [@lowest, @table.limit].uniq.each { |bytes| write_number(block, 0x20, 0x1f, bytes) }
          @lowest = nil
        end

        def write_field(block, name, value)
          number = STATIC.dig(name, value) || @table.number(name, value)
          number ? write_number(block, 0x80, 0x7f, number) : write_literal(block, name, value)
        end

        def write_literal(block, name, value)
          bits, mask = way = WAYS.fetch(name, ADDED)
          number = STATIC.dig(name, nil) || 0
          write_number(block, bits, mask, number)
          write_text(block, name) if number.zero?
          write_text(block, value)
          @table << [name.b.freeze, value.b.freeze] if way.equal?(ADDED)
        end

        def write_text(block, text)
          coded = @texts.fetch(text) { Huffman.encode(text) }
          shorter = coded.bytesize < text.bytesize
          write_number(block, shorter ? 0x80 : 0, 0x7f, shorter ? coded.bytesize : text.bytesize)
          block << (shorter ? coded : text.b)
        end

        # §5.1
        def write_number(block, bits, mask, number)
          return block << (bits | number) if number < mask

          block << (bits | mask)
          number -= mask
          while number >= 0x80
            block << ((number & 0x7f) | 0x80)
            number >>= 7
          end
          block << number
        end
      end
    end
  end
end
