# frozen_string_literal: true

require_relative "reply_scanner"

module Plait
  module Protocols
    module RESP
      # Makes values of a whole reply: String, Integer, Float, true, false, nil, Array, Hash, or {Failure}. What has attributes
      # stands for itself.
      #
      # @example
      #   Decoder.decode("*2\r\n$1\r\na\r\n:1\r\n")   # => ["a", 1]
      class Decoder
        # An error that the peer has answered with.
        Failure = Struct.new(:message)

        FLOATS = { "inf" => Float::INFINITY, "-inf" => -Float::INFINITY, "nan" => Float::NAN }.freeze
        # What a line is by its type, where nothing but the line belongs to it.
        SIMPLE = {
          "+" => ->(text) { text }, "-" => ->(text) { Failure.new(text) }, ":" => ->(text) { Integer(text, 10) },
          "(" => ->(text) { Integer(text, 10) }, "#" => ->(text) { text == "t" }, "_" => ->(_) {},
          "," => ->(text) { FLOATS.fetch(text) { Float(text) } }
        }.freeze
        private_constant :FLOATS, :SIMPLE

        # @param bytes [String] one reply, as {ReplyScanner} tells it
        # @return [Object]
        def self.decode(bytes) = new(bytes).value

        # @param bytes [String]
        def initialize(bytes)
          @bytes = bytes
          @at = 0
        end

        # @return [Object] the next one
        def value
          type = @bytes[@at]
          rest = line
          SIMPLE.key?(type) ? SIMPLE.fetch(type).call(rest) : sized(type, Integer(rest, 10))
        end

        private

        def line
          ends = @bytes.index("\r\n", @at)
          text = @bytes[(@at + 1)...ends]
          @at = ends + 2
          text
        end

        def sized(type, size)
          case type
          when "*", "~", ">" then array(size)
          when "%" then Array.new(size) { [value, value] }.to_h
          when "|" then (size * 2).times { value } && value
          else string(type, size)
          end
        end

        def string(type, size)
          return if size.negative?

          text = @bytes[@at, size]
          @at += size + 2
          type == "!" ? Failure.new(text) : text
        end

        def array(size) = size.negative? ? nil : Array.new(size) { value }
      end
    end
  end
end
