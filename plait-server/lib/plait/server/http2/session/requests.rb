# frozen_string_literal: true

require_relative "../calm"
require_relative "../frames"
require_relative "../header_block"
require_relative "../request_head"
require_relative "../stream"

module Plait
  class Server
    module HTTP2
      class Session
        # Frames that bring requests: HEADERS, CONTINUATION and DATA.
        module Requests
          private

          def headers(frame)
            stream_only(frame)
            raise broken(:protocol_error, "a request on stream #{frame.id}", "§5.1.1") if frame.id.even?

            fragment, dependency = prioritized(frame, unpadded(frame))
            @block = HeaderBlock.new(frame.id, fragment, last: frame.flag?(Frames::END_STREAM), itself: dependency == frame.id,
                                                         largest: @largest)
            end_block if frame.flag?(Frames::END_HEADERS)
          end

          def continuation(frame)
            raise broken(:protocol_error, "CONTINUATION without HEADERS", "§6.10") unless @block

            @calm.spend
            @block.add(frame.payload)
            end_block if frame.flag?(Frames::END_HEADERS)
          end

          # Whatever becomes of it, it has to be decoded: later ones refer to it.
          def end_block
            block, @block = @block, nil
            fields = @hpack.decode(block.bytes)
            stream = @streams[block.id]
            if stream then trailers(stream, fields, block.last?)
            elsif block.id > @last then open_stream(block, fields)
            else
              stray(block.id)
            end
          end

          def open_stream(block, fields)
            @last = block.id
            return refuse(block.id, :refused_stream) if ending? || @streams.size >= STREAMS
            return refuse(block.id, :protocol_error) if block.on_itself?

            begin_request(block, RequestHead.new(fields, block.last?))
          rescue RequestHead::Malformed
            refuse(block.id, :protocol_error)
          end

          def begin_request(block, head)
            head.to_http1 unless head.connect? # what is malformed is so before there is a stream
            stream = Stream.new(block.id, @peer.window, WINDOW)
            stream.length = head.length
            stream.end_receiving if block.last?
            raise RequestHead::Malformed if stream.wrong_length?

            @streams[block.id] = stream
            @host.request(stream, head)
            @host.finish(stream, []) if block.last?
          end

          def refuse(id, error)
            put(Frames::RST_STREAM, 0, id, [Frames.code(error)].pack("N"))
            remember(id)
            @calm.spend(Calm::RESET)
          end

          def trailers(stream, fields, last)
            return fault(stream, :stream_closed) unless stream.receiving?
            return fault(stream, :protocol_error) if !last || fields.any? { |name, _| name.start_with?(":") }

            end_request(stream, RequestHead.check(fields))
          rescue RequestHead::Malformed
            fault(stream, :protocol_error)
          end

          def data(frame)
            stream_only(frame)
            size = frame.payload.bytesize
            @granted -= size
            raise broken(:flow_control_error, "more than the window of the connection", "§6.9.1") if @granted.negative?

            body = unpadded(frame)
            stream = @streams[frame.id]
            return discard(frame, size) unless stream
            return fault(stream, :stream_closed) && grant(size) unless stream.receiving?

            receive_body(stream, body, size, frame.flag?(Frames::END_STREAM))
          end

          def receive_body(stream, body, size, last)
            stream.granted -= size
            stream.received += body.bytesize
            stream.held += size
            return fault(stream, :flow_control_error) if stream.granted.negative?
            return fault(stream, :protocol_error) if stream.wrong_length?

            @calm.spend if body.empty?
            @host.data(stream, body) unless body.empty?
            taken(stream, size - body.bytesize)
            end_request(stream, []) if last
          end

          def end_request(stream, trailers)
            return unless @streams.key?(stream.id) # the host has reset it meanwhile

            stream.end_receiving
            return fault(stream, :protocol_error) if stream.wrong_length?

            @host.finish(stream, trailers)
          end

          # Of a stream that was reset by us it may have been on its way.
          def discard(frame, size)
            grant(size)
            stray(frame.id)
          end

          def stray(id)
            idle(id)
            @calm.spend
            return if @gone.key?(id)

            raise broken(:stream_closed, "a frame on stream #{id}, which has ended", "§5.1")
          end

          def unpadded(frame)
            return frame.payload unless frame.flag?(Frames::PADDED)

            padding = frame.payload.getbyte(0)
            rest = frame.payload.bytesize - 1 - padding.to_i
            raise broken(:protocol_error, "more padding than frame", "§6.1") if padding.nil? || rest.negative?

            frame.payload.byteslice(1, rest)
          end

          # Whom it depends on is of no interest to us (§5.3.2), but for one case.
          def prioritized(frame, payload)
            return [payload, nil] unless frame.flag?(Frames::PRIORITIZED)
            raise broken(:frame_size_error, "HEADERS too short for a priority", "§6.2") if payload.bytesize < 5

            [payload.byteslice(5..), payload.unpack1("N") & 0x7fff_ffff]
          end
        end
      end
    end
  end
end
