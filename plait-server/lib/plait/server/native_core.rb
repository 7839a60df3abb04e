# frozen_string_literal: true

require_relative "relay"
require "plait/io/orphaned_fork"

module Plait
  class Server
    # One request's hold on its connection. Kept longer than its request, it reaches no connection.
    #
    # The core that has made it (see {NativeCore}) gives it:
    # - `write(parts)`: sends Strings without waiting; the bytes that the peer has not taken yet, or nil when it is gone
    # - `interim(parts)`: the same with a 1xx answer, after which the answer itself is still to come
    # - `send_file(descriptor, offset, count)`: sends of a file what can be sent without waiting; the bytes, 0 when none
    #   could be, false when the file is shorter, nil when the connection is gone
    # - `number`: its descriptor, `minor`: of the request's HTTP/1.minor, `answering?`: whether some of an answer was sent
    # - `env`: of the request, while its app runs; else nil
    # - `detach`: its descriptor, what was received behind the request, and the socket that speaks TLS, or nil: the caller's
    #   from then on
    Exchange = Struct.new(:core, :ticket, :serial)

    # See {Exchange} above.
    class Exchange
      # What an app finds as `rack.hijack`: the connection is its own from then on.
      # @raise [ConnectionClosed] when it is gone
      def call = @hijacked ||= take_over

      # The app has failed after it took the connection, so the server closes it.
      def abandon = (@hijacked || @socket)&.close

      # @return [IO] to wait by; the connection stays the core's
      def io = @io ||= IO.for_fd(number, "w", autoclose: false)

      def inspect = "#<#{self.class}>"

      private

      # As `rack.hijack_io`, too, where Rack 2 has it.
      def take_over
        rest = secure = nil
        Uninterruptible.run do # an interrupt would leave the connection open
          number, rest, secure = detach || raise(ConnectionClosed, "the connection of this request is gone")
          @socket = secure ? secure.to_io.tap { |io| io.autoclose = true } : Socket.for_fd(number)
        end
        socket = secure ? Relay.begin(secure) : @socket
        socket.sync = true
        socket.ungetbyte(rest) unless rest.empty?
        socket.tap { env&.store("rack.hijack_io", socket) }
      end
    end

    # The input of a request without a body. One is enough for all: there is nothing in it that could change.
    class NoInput
      # @return [String, nil] as IO#read at the end of the input
      def read(length = nil, buffer = nil)
        buffer = buffer ? buffer.replace("") : +""
        buffer if length.nil? || length.zero?
      end

      def gets(*) = nil

      def each(*) = self

      def rewind = 0

      def size = 0

      def pos = 0

      def eof? = true

      def binmode? = true

      def external_encoding = Encoding::BINARY

      def close = nil

      def closed? = false
    end

    NativeServer.define_core(self) if Native.available? && Plait.const_defined?(:NativeServer)

    # The connections of a server and its workers, in C: rb_server.c.
    #
    # - `new(app, reply, hybrid, spawner, settings)`: the spawner has a further worker begin, which calls `work`
    # - `listen(io, scheme, name, port, protocol = "HTTP/1.1")`: accepts there; returns a number. With nil for `io` nothing is
    #   accepted, and the number is for `bring`
    # - `bring(descriptor, number, address)`: a connection that was accepted elsewhere; the core takes a copy of the descriptor
    # - `bring_secure(socket, number, address)`: an SSLSocket after its handshake; its descriptor is the core's from then on
    # - `hold(count)`: descriptors that are in front of connections which are brought, or below 0: no longer are;
    #   `room?(count)`: whether so many more may be
    # - `begin`: the first worker; `work`: the life of one, until `halt`
    # - `sweep`: ends what takes too long; to be called now and then
    # - `retire`: takes no new connections, and closes each of the others after its next request
    # - `drain`: takes nothing new; `halt`: the workers leave; `close`: closes what is left
    # - `unfinished`: how many requests have no answer yet
    # - `statistics`: a Hash of counts
    class NativeCore
      # @raise [UnsupportedError] where there is no core
      def self.check
        return if Plait.const_defined?(:NativeServer)

        reason = Native::REASON || "this system has neither epoll(7) nor kqueue(2)"
        raise UnsupportedError, "Plait::Server needs the C extension (#{reason})"
      end

      def inspect = "#<#{self.class}>"
    end
    private_constant :NoInput, :Exchange, :NativeCore, *(constants & %i[Offloaded])
  end
end
