# frozen_string_literal: true

require "socket"
require "plait/values/errors"

module Plait
  class Server
    # One request's hold on its connection. It knows whose it is: kept longer than its request it reaches nobody.
    #
    # The core that has made it (see {NativeCore}) gives it:
    # - `write(parts)`: sends Strings without waiting; the bytes that the peer has not taken yet, or nil when it is gone
    # - `interim(parts)`: the same with a 1xx answer, after which the answer itself is still to come
    # - `send_file(descriptor, offset, count)`: sends of a file what can be sent without waiting; the bytes, 0 when none
    #   could be, false when the file is shorter, nil when the connection is gone
    # - `number`: its descriptor, `minor`: of the request's HTTP/1.minor, `begun?`: whether some of an answer was sent
    # - `env`: of the request, while its app runs; else nil
    # - `detach`: its descriptor and what was received behind the request: the caller's from then on
    Exchange = Struct.new(:core, :ticket, :serial)

    # See {Exchange} above.
    class Exchange
      # What an app finds as `rack.hijack`: the connection is its own from then on.
      # @return [Socket]
      # @raise [ConnectionClosed] when it is gone
      def call
        @hijacked ||= take_over
      end

      # The app has failed, and has told nobody else of the connection that it has taken.
      # @return [void]
      def abandon = @hijacked&.close

      # @return [Socket] to wait by; the connection stays the core's
      def io
        @io ||= Socket.for_fd(number).tap { |socket| socket.autoclose = false }
      end

      def inspect = "#<#{self.class}>"

      private

      # As `rack.hijack_io`, too, where Rack 2 has it.
      def take_over
        socket = socket(*(detach or raise ConnectionClosed, "the connection of this request is gone"))
        env&.store("rack.hijack_io", socket)
        socket
      end

      def socket(number, rest)
        socket = Socket.for_fd(number)
        socket.sync = true
        socket.ungetbyte(rest) unless rest.empty?
        socket
      end
    end
  end
end
