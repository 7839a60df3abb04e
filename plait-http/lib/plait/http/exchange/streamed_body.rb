# frozen_string_literal: true

require "plait/mechanisms/time_limit"

module Plait
  module HTTP
    class Exchange
      # Undoes the coding of a response's body, where that coding was our idea.
      class Decoding
        # @return [Decoding, nil] nil: the body is given out as it comes
        def self.for(client, request, response)
          return unless response.encoded? && response.status != 206 && client.heads.decode?(request) # a part can't be decoded

          coding = response["content-encoding"]
          new(coding, client.settings.limits.body, request.origin) if Codings.known?(coding)
        end

        # @param max [Integer, nil] bytes
        def initialize(coding, max, origin)
          @coding = coding
          @limits = { max: max, endpoint: origin }
        end

        # @param response [Response] whole
        # @raise [LimitExceeded, RemoteProtocolError]
        def apply(response)
          return if response.body.nil? || response.body.empty?

          response.body = Codings.decode(response.body, @coding, **@limits)
          response.decoded = true
        end

        # @param response [Response] whose body comes piece by piece
        def decoder(response)
          response.decoded = true
          Codings.decoder(@coding, **@limits)
        end
      end

      # The body of a response that is read while it arrives, decoded where that was asked for.
      class StreamedBody
        # Bytes that are read for nothing, and seconds that it may take, to use the connection again.
        SMALL = 64 * 1024
        PATIENCE = 0.1
        # Bytes of a piece at most.
        PIECE = 64 * 1024

        # @param wire [Wire] on which the response was opened
        # @yieldparam error [Error] that ends the body
        # @yieldreturn [Error] the one that is raised instead
        def initialize(wire, response, decoding, &tell)
          @wire = wire
          @response = response
          @decoder = decoding&.decoder(response)
          @tell = tell
        end

        # @raise [UsageError] where nothing is left to read
        def check
          raise UsageError, "the body of this response can only be read within the block that was given the response" if @over
          raise UsageError, "the body of this response was read before: it comes once" if @reading
        end

        # @raise (see #check)
        def each
          check
          ours = @reading = true
          receive do |piece|
            ours = false
            yield(piece)
            ours = true
          end
        rescue Error => e
          raise ours ? @tell.call(e) : e
        end

        # As {each}, and each piece may be the same String.
        def each_in_place(&block)
          @buffer = String.new(capacity: PIECE) unless @decoder
          each(&block)
        end

        # The caller has stopped reading it.
        def close = stop

        # For {ResponseMethods#close}, within the block.
        def finish = nil

        # As {close}; reads a small rest, so that the connection can be used again.
        def drop
          stop
          return if @wire.reusable? || @wire.closed?

          drain unless @response["content-length"].to_i > SMALL
          @wire.close unless @wire.reusable?
        end

        private

        def stop
          @over = true
          @decoder&.close
        end

        def receive(&block)
          while (piece = @wire.read_piece(@buffer))
            @decoder ? @decoder.decode(piece, &block) : yield(piece)
          end
          @decoder&.finish
        end

        def drain
          TimeLimit.enforce(PATIENCE) { skip(SMALL) }
        rescue Error
          nil # a body without a reader
        end

        def skip(left)
          while left.positive? && (piece = @wire.read_piece)
            left -= piece.bytesize
          end
        end
      end
    end
  end
end
