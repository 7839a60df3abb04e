# frozen_string_literal: true

module Plait
  module Protocols
    module HTTP1
      module Pure
        # As many bytes as Content-Length says.
        class LengthBody
          # @param length [Integer]
          def initialize(length)
            @left = length
          end

          # (see NoBody#next)
          def next(bytes, at)
            return [:done, nil, at] if @left.zero?

            # What is left may be more than a size of JRuby's holds.
            data = bytes.byteslice(at, [@left, bytes.bytesize - at].min)
            return [:more, nil, at] if data.empty?

            @left -= data.bytesize
            [:data, data, at + data.bytesize]
          end

          # (see NoBody#unfinished)
          def unfinished = (:truncated_length if @left.positive?)

          # (see NoBody#trailers)
          def trailers = []
        end
      end
    end
  end
end
