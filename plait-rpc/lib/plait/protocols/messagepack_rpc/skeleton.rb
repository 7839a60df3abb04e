# frozen_string_literal: true

module Plait
  module Protocols
    module MessagePackRPC
      # A packed value from which large strings were taken out while it was received. In the bytes a mark stands for each:
      # a fixext 4 of an extension type that is used for nothing else, with the string's number.
      class Skeleton
        MARK_TYPE = -128
        MARK_SIZE = 6

        # @return [String] packed
        attr_reader :bytes

        # @param bytes [String] packed
        # @param bodies [Array<String>] all that were taken out of the message, by number
        # @param marks [Array<Integer>] where the marks stand in the bytes
        # @param ambiguous [Boolean] whether the peer has sent extensions of the marks' type itself
        def initialize(bytes, bodies, marks, ambiguous)
          @bytes = bytes
          @bodies = bodies
          @marks = marks
          @ambiguous = ambiguous
        end

        def ambiguous? = @ambiguous

        # @return [String, nil] the value, when it is nothing but a large string
        def body = (body_of(bytes.byteslice(2, 4)) if bytes.bytesize == MARK_SIZE)

        # @param payload [String] a mark's
        # @return [String] the large string it stands for
        def body_of(payload) = @bodies.fetch(payload.unpack1("N"))

        # @return [String] the packed value as it was sent, copied together
        def join
          at = 0
          joined = @marks.each_with_object("".b) do |mark, whole|
            body = body_of(bytes.byteslice(mark + 2, 4))
            whole << bytes.byteslice(at, mark - at) << header(body) << body.b
            at = mark + MARK_SIZE
          end
          joined << bytes.byteslice(at..)
        end

        private

        def header(body)
          short, middle, long = body.encoding == Encoding::BINARY ? [0xc4, 0xc5, 0xc6] : [0xd9, 0xda, 0xdb]
          size = body.bytesize
          return [short, size].pack("CC") if size < 1 << 8

          size < 1 << 16 ? [middle, size].pack("Cn") : [long, size].pack("CN")
        end
      end
    end
  end
end
