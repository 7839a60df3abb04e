# frozen_string_literal: true

module Plait
  module Protocols
    module MessagePackRPC
      module Pure
        # What the first byte of a packed value says.
        module Formats
          NEVER_USED = 0xc1
          # nil, false, true; float 32, 64; uint 8 to 64; int 8 to 64
          FIXED = { 0xc0 => 1, 0xc2 => 1, 0xc3 => 1, 0xca => 5, 0xcb => 9, 0xcc => 2, 0xcd => 3, 0xce => 5, 0xcf => 9,
                    0xd0 => 2, 0xd1 => 3, 0xd2 => 5, 0xd3 => 9 }.freeze
          # bin and str, by the bytes of their length
          STRINGS = { 0xc4 => 1, 0xc5 => 2, 0xc6 => 4, 0xd9 => 1, 0xda => 2, 0xdb => 4 }.freeze
          # ext, by the bytes of its length; fixext, by the bytes of its payload
          EXTENSIONS = { 0xc7 => 1, 0xc8 => 2, 0xc9 => 4 }.freeze
          FIXED_EXTENSIONS = { 0xd4 => 1, 0xd5 => 2, 0xd6 => 4, 0xd7 => 8, 0xd8 => 16 }.freeze
          # array and map, by the bytes of their count
          CONTAINERS = { 0xdc => 2, 0xdd => 4, 0xde => 2, 0xdf => 4 }.freeze
          # uint and int, by the bytes of the number
          INTEGERS = { 0xcc => 1, 0xcd => 2, 0xce => 4, 0xcf => 8, 0xd0 => 1, 0xd1 => 2, 0xd2 => 4, 0xd3 => 8 }.freeze

          # Bytes of the value when its first byte says all about its length; 0: more must be read.
          STEPS = Array.new(256) do |first|
            case first
            when 0x00..0x7f, 0xe0..0xff then 1
            when 0xa0..0xbf then 1 + (first & 31)
            else FIXED.fetch(first, 0)
            end
          end.freeze

          class << self
            def array?(first) = (first & 0xf0) == 0x90 || first == 0xdc || first == 0xdd

            def text?(first) = !first.between?(0xc4, 0xc6)
          end
        end
      end
    end
  end
end
