# frozen_string_literal: true

require_relative "../calm"
require_relative "../frames"
require_relative "../settings"

module Plait
  class Server
    module HTTP2
      class Session
        # Frames about streams, windows and the connection.
        module Control
          private

          def priority(frame)
            stream_only(frame)
            size(frame, 5)
            @calm.spend
            itself = (frame.payload.unpack1("N") & 0x7fff_ffff) == frame.id
            fault(@streams[frame.id], :protocol_error) if itself && @streams.key?(frame.id)
          end

          def rst_stream(frame)
            stream_only(frame)
            size(frame, 4)
            idle(frame.id)
            stream = @streams[frame.id] or return @calm.spend
            forget(stream)
            @host.reset(stream)
            @calm.spend(Calm::RESET)
          end

          def window_update(frame)
            size(frame, 4)
            @calm.spend
            more = frame.payload.unpack1("N") & 0x7fff_ffff
            return widen(more) if frame.id.zero?

            idle(frame.id)
            stream = @streams[frame.id] or return
            return fault(stream, :protocol_error) if more.zero?
            return fault(stream, :flow_control_error) if (stream.window += more) > Settings::LARGEST_WINDOW

            @host.granted(stream)
          end

          def widen(more)
            raise broken(:protocol_error, "WINDOW_UPDATE with 0", "§6.9") if more.zero?
            raise broken(:flow_control_error, "a window too large", "§6.9.1") if (@window += more) > Settings::LARGEST_WINDOW

            @host.granted(nil)
          end

          def settings(frame)
            connection_only(frame)
            @greeted = true
            @calm.spend
            return size(frame, 0) if frame.flag?(Frames::ACK)

            before = @peer.window
            @peer.apply(frame.payload)
            @hpack.limit_table(@peer.table_size) if @peer.table_size
            shift_windows(@peer.window - before)
            put(Frames::SETTINGS, Frames::ACK, 0)
          end

          # §6.9.2
          def shift_windows(difference)
            return if difference.zero?

            @streams.each_value do |stream|
              next if (stream.window += difference) <= Settings::LARGEST_WINDOW

              raise broken(:flow_control_error, "a window too large", "§6.9.2")
            end
            @host.granted(nil)
          end

          def ping(frame)
            connection_only(frame)
            size(frame, 8)
            @calm.spend
            put(Frames::PING, Frames::ACK, 0, frame.payload) unless frame.flag?(Frames::ACK)
          end

          def goaway(frame)
            connection_only(frame)
            size(frame, 8) if frame.payload.bytesize < 8

            @leaving = true
          end

          def push_promise(_frame) = raise(broken(:protocol_error, "PUSH_PROMISE of a client", "§8.4"))
        end
      end
    end
  end
end
