# frozen_string_literal: true

require_relative "../../broken"
require_relative "chunk_line"
require_relative "trailer_section"

module Plait
  module Protocols
    module HTTP1
      module Pure
        # Chunks, each with its length before it (RFC 9112 §7.1); twin of http1_body.c.
        class ChunkedBody
          # A line that needs no second look.
          PLAIN_LINE = /\G(\h{1,15})\r\n/n

          # @param limits [Limits]
          def initialize(limits)
            @limits = limits
            @room = limits.chunk_extensions
            @total = 0
            @left = 0
            @trailers = TrailerSection.new(limits)
            begin_line
          end

          # (see NoBody#next)
          def next(bytes, at)
            until at == bytes.bytesize || @state == :over
              return data(bytes, at) if @state == :data

              at = send(@state, bytes, at)
            end
            [@state == :over ? :done : :more, nil, at]
          end

          # (see NoBody#unfinished)
          def unfinished = (:truncated_chunked unless @state == :over)

          # (see NoBody#trailers)
          def trailers = @trailers.fields

          private

          def begin_line
            @line = nil
            @state = :line
          end

          # Each state takes what it can from `at` on, and gives where the next byte is.

          def line(bytes, at)
            plain = @line.nil? && bytes.match(PLAIN_LINE, at)
            return begin_chunk(plain[1].hex, plain.end(0)) if plain

            @line ||= ChunkLine.new(@room)
            return at + 1 unless @line.take(bytes.byteslice(at), at)

            @room = @line.room
            begin_chunk(@line.size, at + 1)
          end

          def begin_chunk(size, after)
            raise Broken.new(:body_limit, after - 1) if @limits.body && @total + size > @limits.body

            @total += size
            @left = size
            @state = size.zero? ? :trailer_section : :data
            after
          end

          def data(bytes, at)
            data = bytes.byteslice(at, [@left, bytes.bytesize - at].min)
            @left -= data.bytesize
            @state = :chunk_cr if @left.zero?
            [:data, data, at + data.bytesize]
          end

          def chunk_cr(bytes, at)
            raise Broken.new(:chunk_end, at) unless bytes.byteslice(at) == "\r"

            @state = :chunk_lf
            at + 1
          end

          def chunk_lf(bytes, at)
            raise Broken.new(:chunk_end, at) unless bytes.byteslice(at) == "\n"

            begin_line
            at + 1
          end

          def trailer_section(bytes, at)
            @state = :over if @trailers.take(bytes.byteslice(at), at)
            at + 1
          end
        end
      end
    end
  end
end
