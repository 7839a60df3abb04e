# frozen_string_literal: true

require "plait/io/native"
require_relative "rules"

module Plait
  module Protocols
    module MessagePackRPC
      # The writer where the extension is missing, see {Writer}.
      class PureWriter
        REQUEST, RESPONSE, NOTIFICATION = 0, 1, 2
        OURS = (1 << 32) - 1
        ANY = (1 << 64) - 1
        PACKED_NIL = "\xC0".b.freeze
        private_constant :REQUEST, :RESPONSE, :NOTIFICATION, :OURS, :ANY, :PACKED_NIL

        # @param raw [Boolean] for a peer that knows no str 8
        # @param join [Integer] pieces of fewer bytes are joined
        def initialize(raw: false, join: 16 * 1024)
          @raw = raw
          @join = join
          clear
        end

        # Forgets what is pending.
        #
        # @return [self]
        def clear
          @parts = []
          @tail = "".b
          self
        end

        # @return [self]
        # @raise [LocalProtocolError]
        def request(id, method, params)
          check_id(id, OURS)
          call([0x94, REQUEST].pack("CC") << unsigned(id), method, params)
        end

        # @return [self]
        # @raise [LocalProtocolError]
        def notification(method, params) = call([0x93, NOTIFICATION].pack("CC"), method, params)

        # @return [self]
        # @raise [LocalProtocolError]
        def response(id, result) = answer(id, [PACKED_NIL, *pieces(result)], result)

        # @param result [String, Array<String>] peers that name their errors send more about them as the result
        # @return [self]
        # @raise [LocalProtocolError]
        def error(id, error, result = PACKED_NIL) = answer(id, [*pieces(error), *pieces(result)], error, result)

        # @return [Integer] bytes that are pending
        def bytesize = @parts.sum(&:bytesize) + @tail.bytesize

        # @return [Boolean]
        def empty? = bytesize.zero?

        # @return [Array<String>] all that was pending, for one writev
        def take
          parts = @tail.empty? ? @parts : @parts << @tail
          clear
          parts
        end

        private

        def call(head, method, params)
          name = method.is_a?(Symbol) ? method.name : method
          raise Rules.refusal(:method, method) unless name.is_a?(String)

          check(params)
          first = pieces(params).find { |piece| !piece.empty? }
          raise Rules.refusal(:params, params) unless array?(first.getbyte(0))

          append(head, string_header(name.bytesize), name, *pieces(params))
        end

        def array?(first) = first.between?(0x90, 0x9f) || first.between?(0xdc, 0xdd)

        def answer(id, pieces, *values)
          check_id(id, ANY)
          values.each { |value| check(value) }
          append([0x94, RESPONSE].pack("CC") << unsigned(id), *pieces)
        end

        def check_id(id, largest)
          raise Rules.refusal(:id, id) unless id.is_a?(Integer) && id.between?(0, largest)
        end

        def check(packed)
          strings = pieces(packed)
          return if strings.all?(String) && strings.sum(&:bytesize).positive?

          raise Rules.refusal(:packed, packed)
        end

        def pieces(packed) = packed.is_a?(Array) ? packed : [packed]

        def append(*pieces)
          pieces.each { |piece| piece.bytesize < @join ? @tail << piece.b : push(piece) }
          self
        end

        def push(piece)
          @parts << @tail unless @tail.empty?
          @parts << piece
          @tail = "".b
        end

        def unsigned(number)
          case number
          when 0..0x7f then [number].pack("C")
          when 0..0xff then [0xcc, number].pack("CC")
          when 0..0xffff then [0xcd, number].pack("Cn")
          when 0..0xffffffff then [0xce, number].pack("CN")
          else [0xcf, number].pack("CQ>")
          end
        end

        def string_header(size)
          return [0xa0 | size].pack("C") if size < 32
          return [0xd9, size].pack("CC") if size < 1 << 8 && !@raw

          size < 1 << 16 ? [0xda, size].pack("Cn") : [0xdb, size].pack("CN")
        end
      end
      private_constant :PureWriter

      # Puts messages together for as few writes as possible. `Writer.new(raw: false, join: 16 * 1024)`; raw: for a peer
      # that knows no str 8.
      #
      # `request(id, method, params)`, `notification(method, params)`, `response(id, result)` and `error(id, error)` append a
      # message around what {Codec#pack} gave, and return self; `take` gives all that is pending as an Array of Strings for
      # one writev. Packed pieces of fewer than `join` bytes are joined; larger ones stand in it as they are, uncopied, and
      # must not be changed until they are written. An error may have a third part, packed too: some peers send its name as
      # the error and what there is to say about it as the result.
      #
      # It raises {LocalProtocolError} for what would break the protocol; then nothing was appended.
      Writer = Native.available? ? NativeWriter : PureWriter
    end
  end
end
