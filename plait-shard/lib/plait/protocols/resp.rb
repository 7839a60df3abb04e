# frozen_string_literal: true

require "plait/values"
require "plait/protocols/rulebook"
require_relative "../shard/native"

module Plait
  module Protocols
    # Replies of RESP, the protocol of Redis, versions 2 and 3, for the control plane. Only C reads commands
    # (plait-shard/ext/plait_shard/resp/resp.h).
    #
    # {ReplyScanner} is part of the extension: bytes in, replies out. `feed` adds bytes, and `finish` ends the input. `next_event`
    # is `:reply` (see `type`, its first byte, and `bytes`, all of it), `:closed` when the input ended between two replies, or
    # nil when more bytes are needed. After a {RemoteProtocolError}, {LimitExceeded} or {TruncatedError} each call raises it.
    module RESP
      # Limits of a reply: bytes of a string, and elements of all its aggregates together.
      LIMITS = { bulk: 512 << 20, elements: 1 << 30 }.freeze

      # @param words [Array<String>] of a command
      # @return [String] as it is sent
      def self.encode(words)
        words.inject("*#{words.size}\r\n".b) { |all, word| all << "$#{word.to_s.bytesize}\r\n".b << word.to_s.b << "\r\n".b }
      end

      # The rules that a reply can break, as the engine has them (RESP_RULES in resp.h).
      module Rules
        # The error, and the limit that allows more.
        Rule = Struct.new(:text, :limit) do
          def section = "RESP, protocol specification"
        end

        ALL = (RESP.const_defined?(:ReplyScanner) ? ReplyScanner.rules : {})
              .transform_values { |fields| Rule.new(*fields).freeze }.freeze

        PROTOCOL = "RESP"

        extend Rulebook
      end

      # Decodes a whole reply: String, Integer, Float, true, false, nil, Array, Hash, or {Failure}. Attributes are skipped.
      #
      # @example
      #   Decoder.decode("*2\r\n$1\r\na\r\n:1\r\n")   # => ["a", 1]
      class Decoder
        # An error in a reply.
        Failure = Struct.new(:message)

        FLOATS = { "inf" => Float::INFINITY, "-inf" => -Float::INFINITY, "nan" => Float::NAN }.freeze
        # Decoders of types that have one line.
        SIMPLE = {
          "+" => ->(text) { text }, "-" => ->(text) { Failure.new(text) }, ":" => ->(text) { Integer(text, 10) },
          "(" => ->(text) { Integer(text, 10) }, "#" => ->(text) { text == "t" }, "_" => ->(_) {},
          "," => ->(text) { FLOATS.fetch(text) { Float(text) } }
        }.freeze

        # @param bytes [String] one reply of {ReplyScanner}
        def self.decode(bytes) = new(bytes).value

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
