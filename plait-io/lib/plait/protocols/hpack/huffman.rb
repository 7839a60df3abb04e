# frozen_string_literal: true

require_relative "table"

module Plait
  module Protocols
    module HPACK
      # The Huffman code of RFC 7541, Appendix B.
      module Huffman
        # Bits of each byte's code, then of the sign for the end. The code is canonical (§5.2): shorter codes come first, equally
        # long ones in the order of their bytes, and each code is its predecessor plus one.
        LENGTHS = <<~BITS.split.map(&:to_i).freeze
          13 23 28 28 28 28 28 28 28 24 30 28 28 30 28 28 28 28 28 28 28 28 30 28 28 28 28 28 28 28 28 28
          6 10 10 12 13 6 8 11 10 10 8 11 8 6 6 6 5 5 5 6 6 6 6 6 6 6 7 8 15 6 12 10
          13 6 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 7 8 7 8 13 19 13 14 6
          15 5 6 5 6 5 6 6 6 5 7 7 6 6 6 5 6 7 6 5 5 6 7 7 7 7 7 15 11 14 13 28
          20 22 20 20 22 22 22 23 22 23 23 23 23 23 24 23 24 24 22 23 24 23 23 23 23 21 22 23 22 23 23 24
          22 21 20 22 22 23 23 21 23 22 22 24 21 22 23 23 21 21 22 21 23 22 23 23 20 22 22 22 23 22 22 23
          26 26 20 19 22 23 22 25 26 26 26 27 27 26 24 25 19 21 26 27 27 26 27 24 21 21 26 26 28 27 27 27
          20 24 20 21 22 21 21 23 22 22 25 25 24 24 26 23 26 27 26 26 27 27 27 27 27 28 27 27 27 27 27 26
          30
        BITS
        # Sorted by their codes.
        SYMBOLS = LENGTHS.each_index.sort_by { |symbol| [LENGTHS[symbol], symbol] }.freeze
        # Each byte's code as digits 0 and 1, and that of the sign for the end.
        CODES = SYMBOLS.each_cons(2).with_object([0]) do |(before, symbol), codes|
          codes << ((codes.last + 1) << (LENGTHS[symbol] - LENGTHS[before]))
        end.zip(SYMBOLS).sort_by(&:last).map { |code, symbol| format("%0*b", LENGTHS[symbol], code).freeze }.freeze

        # A place in the tree of codes. What a byte leads to is found when it is first met: 256 places have 65,536 such steps,
        # and headers use few of them.
        class Place
          # @return [Boolean] whether a text may end here: behind at most seven bits of the sign for the end
          attr_accessor :final

          def initialize
            @next = []
            @steps = []
          end

          # @param digit [Integer] 0 or 1
          # @return [Place, Integer, nil] an Integer is a symbol
          def [](digit) = @next[digit]

          def []=(digit, place)
            @next[digit] = place
          end

          # @return [Array(Place, String)] where eight bits lead to, and the bytes that they complete
          # @raise [Error]
          def step(byte) = @steps[byte] ||= walk(byte)

          private

          def walk(byte)
            place = self
            bytes = []
            7.downto(0) do |bit|
              place = place[byte[bit]]
              next unless place.is_a?(Integer)

              raise Error, "the sign for the end inside of a text" if place == 256

              bytes << place
              place = Huffman.root
            end
            [place, bytes.pack("C*").freeze].freeze
          end
        end

        # The last short texts, coded or decoded: most peers write the same fields again with each head, outside of the table.
        class Memory
          MOST = 64
          SHORT = 64 # bytes

          def initialize
            @texts = {}
          end

          # @return [String] what is remembered of the text, else what the block gives
          def fetch(text)
            return yield if text.bytesize > SHORT

            @texts[text] || yield.tap do |other|
              @texts.shift if @texts.size >= MOST
              @texts[text] = other
            end
          end
        end

        module_function

        # @return [Place] where each text begins; the tree is made on first use, since it takes some milliseconds
        def root = @root ||= plant

        def plant
          root = Place.new
          CODES.each_with_index do |code, symbol|
            *way, last = code.each_char.map(&:to_i)
            way.inject(root) { |place, digit| place[digit] ||= Place.new }[last] = symbol
          end
          mark_ends(root)
        end

        # @return [Place] the root
        def mark_ends(root)
          place = root
          8.times do
            place.final = true
            place = place[1]
          end
          root
        end

        # @return [String] binary
        def encode(text)
          digits = text.each_byte.map { |byte| CODES[byte] }.join
          [digits << ("1" * (-digits.bytesize % 8))].pack("B*")
        end

        # @return [String] binary
        def decode(bytes)
          place = root
          text = "".b
          bytes.each_byte do |byte|
            place, part = place.step(byte)
            text << part
          end
          place.final ? text : raise(Error, "a text with a wrong end")
        end
      end
    end
  end
end
