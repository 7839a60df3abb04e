# frozen_string_literal: true

require "plait/io/native"
require_relative "rules"

module Plait
  module Protocols
    module MessagePackRPC
      # The writer without the extension, see {Writer}.
      class PureWriter
        REQUEST, RESPONSE, NOTIFICATION = 0, 1, 2
        OURS = (1 << 32) - 1
        ANY = (1 << 64) - 1
        PACKED_NIL = "\xC0".b.freeze

        # @param raw [Boolean] for a peer that knows no str 8
        # @param join [Integer] pieces of fewer bytes are joined
        def initialize(raw: false, join: 16 * 1024)
          require "msgpack"
          @packer = ::MessagePack::Packer.new(compatibility_mode: raw)
          @join = join
          clear
        end

        # Forgets what is pending.
        def clear
          @parts, @tail, @bytesize = [], "".b, 0
          self
        end

        def request(id, method, params)
          check_id(id, OURS)
          call([REQUEST, id], method, params)
        end

        def notification(method, params) = call([NOTIFICATION], method, params)

        def response(id, result) = answer(id, [PACKED_NIL, *pieces(result)], result)

        # @param result [String, Array<String>] more about the error, for peers that name their errors
        def error(id, error, result = PACKED_NIL) = answer(id, [*pieces(error), *pieces(result)], error, result)

        # @return [Integer] bytes that are pending; others may ask while one writes, on JRuby at the same time
        attr_reader :bytesize

        def empty? = bytesize.zero?

        # @return [Array<String>] all that was pending, for one writev
        def take
          parts = @tail.empty? ? @parts : @parts << @tail
          clear
          parts
        end

        private

        def call(numbers, method, params)
          name = method.is_a?(Symbol) ? method.name : method
          raise Rules.refusal(:method, method) unless name.is_a?(String)

          check(params)
          raise Rules.refusal(:params, params) unless array?(pieces(params).find { |piece| !piece.empty? }.getbyte(0))

          @packer.write_array_header(numbers.size + 2)
          [*numbers, name.dup.force_encoding(Encoding::UTF_8)].each { |value| @packer.write(value) }
          append(packed, *pieces(params))
        end

        # (JRuby's full_pack keeps the bytes for the next message.)
        def packed = @packer.to_s.tap { @packer.reset }

        def array?(first) = first.between?(0x90, 0x9f) || first.between?(0xdc, 0xdd)

        def answer(id, pieces, *values)
          check_id(id, ANY)
          values.each { |value| check(value) }
          @packer.write_array_header(4).write(RESPONSE).write(id)
          append(packed, *pieces)
        end

        def check_id(id, largest) = (raise Rules.refusal(:id, id) unless id.is_a?(Integer) && id.between?(0, largest))

        def check(packed)
          strings = pieces(packed)
          return if strings.all?(String) && strings.sum(&:bytesize).positive?

          raise Rules.refusal(:packed, packed)
        end

        def pieces(packed) = packed.is_a?(Array) ? packed : [packed]

        def append(*pieces)
          pieces.each { |piece| piece.bytesize < @join ? @tail << piece.b : push(piece) }
          @bytesize += pieces.sum(&:bytesize)
          self
        end

        def push(piece)
          @parts << @tail unless @tail.empty?
          @parts << piece
          @tail = "".b
        end
      end

      # Joins messages for few writes. `Writer.new(raw: false, join: 16 * 1024)`; raw: for a peer without str 8.
      #
      # `request(id, method, params)`, `notification(method, params)`, `response(id, result)` and `error(id, error, result)`
      # append a message of packed values ({Codec#pack}), and return self; `take` returns all pending bytes as an Array of
      # Strings for one writev. Pieces of fewer than `join` bytes are joined; larger ones are not copied, and must not change
      # until they are written.
      #
      # It raises {LocalProtocolError} for a value that would break the protocol, and appends nothing.
      Writer = Native.available? ? NativeWriter : PureWriter
    end
  end
end
