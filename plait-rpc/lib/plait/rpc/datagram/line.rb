# frozen_string_literal: true

require_relative "frames"
require_relative "wire"
require_relative "../pure_line"
require "plait/values/errors"

module Plait
  module RPC
    module Datagram
      # What goes on between a UDP socket and those who share it. A datagram that is no message, or more than one, is as good as
      # lost: it may be anybody's.
      class Line < PureLine
        private

        def make_wire(socket, parser) = Wire.new(socket, parser)

        def make_writer(raw) = Frames.new(raw: raw)

        # Nothing else tells that an answer was lost.
        def enter_call(future, params)
          future.limit || raise(UsageError, "#{future.method_name}: a call over udp:// needs a timeout, it may never be answered")
          super
        end

        def take_events
          event = @parser.next_event
          take_event(event) if @parser.bytesize == @wire.size
        rescue RemoteProtocolError
          nil
        ensure
          @parser.reset
        end
      end
    end
  end
end
