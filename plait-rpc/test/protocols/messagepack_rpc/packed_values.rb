# frozen_string_literal: true

# Packed values from the table of MessagePack's specification: each format at its edges.
module PackedValues
  NUMBERS = {
    "positive fixint 0" => "\x00", "positive fixint 127" => "\x7F",
    "negative fixint -1" => "\xFF", "negative fixint -32" => "\xE0",
    "uint 8" => "\xCC\x80", "uint 8, small" => "\xCC\x00", "uint 8, largest" => "\xCC\xFF",
    "uint 16" => "\xCD\x01\x00", "uint 16, largest" => "\xCD\xFF\xFF",
    "uint 32" => "\xCE\x00\x01\x00\x00", "uint 32, largest" => "\xCE\xFF\xFF\xFF\xFF",
    "uint 64" => "\xCF\x00\x00\x00\x01\x00\x00\x00\x00", "uint 64, largest" => "\xCF#{"\xFF" * 8}",
    "int 8" => "\xD0\x80", "int 8, not negative" => "\xD0\x7F",
    "int 16" => "\xD1\x80\x00", "int 32" => "\xD2\x80\x00\x00\x00",
    "int 64" => "\xD3\x80#{"\x00" * 7}", "int 64, not negative" => "\xD3\x7F#{"\xFF" * 7}",
    "float 32" => "\xCA\x3F\x80\x00\x00",
    "float 64" => "\xCB\x3F\xF0#{"\x00" * 6}", "float 64, infinite" => "\xCB\x7F\xF0#{"\x00" * 6}"
  }.freeze

  STRINGS = {
    "fixstr, empty" => "\xA0", "fixstr" => "\xA3abc", "fixstr of 31" => "\xBF#{"a" * 31}", "fixstr, not UTF-8" => "\xA2\xFF\xFE",
    "str 8, empty" => "\xD9\x00", "str 8" => "\xD9\x20#{"a" * 32}", "str 8, largest" => "\xD9\xFF#{"a" * 255}",
    "str 16, empty" => "\xDA\x00\x00", "str 16" => "\xDA\x01\x00#{"a" * 256}",
    "str 32, empty" => "\xDB\x00\x00\x00\x00", "str 32" => "\xDB\x00\x00\x01\x01#{"a" * 257}",
    "bin 8, empty" => "\xC4\x00", "bin 8" => "\xC4\x03\x00\xFF\xC1", "bin 8, largest" => "\xC4\xFF#{"\xC1" * 255}",
    "bin 16, empty" => "\xC5\x00\x00", "bin 16" => "\xC5\x01\x00#{"\xC1" * 256}",
    "bin 32, empty" => "\xC6\x00\x00\x00\x00", "bin 32" => "\xC6\x00\x00\x01\x01#{"\xC1" * 257}"
  }.freeze

  ARRAYS = {
    "fixarray, empty" => "\x90", "fixarray" => "\x93\x01\xA1a\xC0", "fixarray of 15" => "\x9F#{"\x01" * 15}",
    "array 16, empty" => "\xDC\x00\x00", "array 16" => "\xDC\x00\x10#{"\x01" * 16}",
    "array 32, empty" => "\xDD\x00\x00\x00\x00", "array 32" => "\xDD\x00\x00\x00\x11#{"\x01" * 17}",
    "nested arrays" => "\x91\x92\x91\x90\x91\x91\xC0"
  }.transform_values(&:b).freeze

  # @return [String] so many pairs
  def self.pairs(count, value) = Array.new(count) { |i| i.chr + value }.join

  MAPS = {
    "fixmap, empty" => "\x80", "fixmap" => "\x82\xA1a\x01\xA1b\x90", "fixmap of 15" => "\x8F#{pairs(15, "\xC0")}",
    "map 16, empty" => "\xDE\x00\x00", "map 16" => "\xDE\x00\x10#{pairs(16, "\xC2")}",
    "map 32, empty" => "\xDF\x00\x00\x00\x00", "map 32" => "\xDF\x00\x00\x00\x11#{pairs(17, "\xC3")}",
    "a map with a map as key" => "\x81\x81\x01\x02\x91\x03", "a map with a key twice" => "\x82\xA1a\x01\xA1a\x02"
  }.freeze

  EXTENSIONS = {
    "fixext 1" => "\xD4\x01\xC1", "fixext 2" => "\xD5\x02\xC1\xC1", "fixext 4" => "\xD6\x7Fabcd",
    "fixext 8" => "\xD7\x05#{"\xC1" * 8}", "fixext 16" => "\xD8\x00#{"\x9F" * 16}",
    "ext 8, empty" => "\xC7\x00\x05", "ext 8" => "\xC7\x03\x05\xC1\xC1\xC1",
    "ext 16, empty" => "\xC8\x00\x00\x05", "ext 16" => "\xC8\x01\x00\x81#{"\xC1" * 256}",
    "ext 32, empty" => "\xC9\x00\x00\x00\x00\x05", "ext 32" => "\xC9\x00\x00\x01\x01\x05#{"\xC1" * 257}",
    "timestamp 32" => "\xD6\xFF\x00\x00\x00\x01", "timestamp 64" => "\xD7\xFF#{"\x00" * 8}",
    "timestamp 96" => "\xC7\x0C\xFF#{"\x00" * 12}"
  }.freeze

  # What taking large strings out could stumble over.
  MIXED = {
    "an extension of the marks' type" => "\x92\xD6\x80\x00\x00\x00\x00\xD9\x03abc",
    "ext 8 of the marks' type" => "\x92\xC7\x02\x80ab\xC4\x05abcde",
    "an empty container last of its containers" => "\x92\x01\x91\x92\x01\x80",
    "strings last of their containers" => "\x91\x92\x01\x81\xA1a\x91\xC4\x04abcd",
    "strings one after another" => "\x94\xD9\x05abcde\xC4\x05fghij\xD9\x05klmno\xA0"
  }.freeze

  # Each by its name.
  ALL = { "nil" => "\xC0", "false" => "\xC2", "true" => "\xC3" }
        .merge(NUMBERS, STRINGS, ARRAYS, MAPS, EXTENSIONS, MIXED).transform_values(&:b).freeze

  # Whole numbers by what they are, also in longer forms than they need.
  IDS = {
    0 => "\x00", 1 => "\x01", 127 => "\x7F", 128 => "\xCC\x80", 5 => "\xCC\x05", 256 => "\xCD\x01\x00", 6 => "\xCD\x00\x06",
    65_536 => "\xCE\x00\x01\x00\x00", (1 << 32) - 1 => "\xCE\xFF\xFF\xFF\xFF", 1 << 32 => "\xCF\x00\x00\x00\x01\x00\x00\x00\x00",
    (1 << 64) - 1 => "\xCF#{"\xFF" * 8}", 7 => "\xD0\x07", 8 => "\xD1\x00\x08", 9 => "\xD2\x00\x00\x00\x09",
    (1 << 63) - 1 => "\xD3\x7F#{"\xFF" * 7}"
  }.transform_values(&:b).freeze

  # Names, also as bin: peers without a type for text send them so.
  METHODS = {
    "add" => "\xA3add", "" => "\xA0", "a" * 31 => "\xBF#{"a" * 31}", "a" * 32 => "\xD9\x20#{"a" * 32}",
    "b" => "\xD9\x01b", "c" => "\xDA\x00\x01c", "d" => "\xDB\x00\x00\x00\x01d",
    "e" => "\xC4\x01e", "f" => "\xC5\x00\x01f", "g" => "\xC6\x00\x00\x00\x01g",
    "größe" => "\xA7gr\xC3\xB6\xC3\x9Fe", "\xFF\xFE".b => "\xA2\xFF\xFE", "a" * 1024 => "\xDA\x04\x00#{"a" * 1024}"
  }.transform_values(&:b).freeze
end
