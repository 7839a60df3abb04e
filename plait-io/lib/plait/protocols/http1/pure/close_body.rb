# frozen_string_literal: true

require_relative "../../broken"

module Plait
  module Protocols
    module HTTP1
      module Pure
        # All bytes until the connection is closed.
        class CloseBody
          # @param limit [Integer, nil] bytes
          def initialize(limit)
            @room = limit
          end

          # (see NoBody#next)
          def next(bytes, at)
            data = bytes.byteslice(at, [@room, bytes.bytesize - at].compact.min)
            raise Broken.new(:body_limit, at) if data.empty? && bytes.bytesize > at
            return [:more, nil, at] if data.empty?

            @room -= data.bytesize if @room
            [:data, data, at + data.bytesize]
          end

          # (see NoBody#unfinished)
          def unfinished = nil

          # (see NoBody#trailers)
          def trailers = []
        end
      end
    end
  end
end
