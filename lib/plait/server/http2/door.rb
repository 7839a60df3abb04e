# frozen_string_literal: true

require "io/wait"
require "socket"
require_relative "connection"
require_relative "frame_reader"
require_relative "../../values/deadline"
require_relative "../../values/errors"

module Plait
  class Server
    module HTTP2
      # Lets in peers without TLS, who begin with HTTP/2 or with HTTP/1.1 (RFC 9113 §3.3): their first bytes tell, which stay
      # where they are. Those of HTTP/1.1 go to the core as they are, and cost nothing from then on.
      class Door
        # Bytes that no request of HTTP/1.1 begins with.
        SIGN = FrameReader::MAGIC.byteslice(0, 16)
        # Connections at once that have not said what they speak; others wait in the kernel.
        SILENT = 1024
        # Seconds between two looks whether there is room for another one.
        LOOK = 0.02

        # @param listener [Io::Listener]
        # @param core [NativeCore]
        # @param numbers [Array<Integer>] as the core knows the listener: for HTTP/1.1, and for HTTP/2
        # @param options [Options]
        def initialize(listener, core, numbers, options)
          @listener = listener
          @core = core
          @number, @http2_number = numbers
          @options = options
          @silent = {}.compare_by_identity
          @inside = {}.compare_by_identity
        end

        # Accepts until it is closed.
        # @yield starts a job beside it
        # @return [void]
        def run
          @listener.each do |socket|
            @silent[socket] = true
            yield -> { let_in(socket) }
            sleep(LOOK) while full? && !@closed
          end
        end

        # Lets nobody in any more; who is in gets his answers.
        # @return [void]
        def close
          @closed = true
          @listener.close
          @inside.keys.each(&:drain) # rubocop:disable Style/HashEachMethods -- others may leave meanwhile
        end

        # Closes what nobody has got to: what was begun for it may have been ended before it ran.
        # @return [void]
        def clear = @silent.each_key(&:close)

        # @return [Boolean] whether somebody is in who was not told everything yet
        def busy? = !@inside.empty?

        private

        def full?
          connections = @options.connections
          silent = @silent.size
          silent >= SILENT || (connections && @core.statistics.fetch(:connections) + @inside.size + silent >= connections)
        end

        def let_in(socket)
          known = listen_to(socket)
          address = socket.remote_address.then { |remote| remote.ip? ? remote.ip_address : "127.0.0.1" }
          return serve(socket, address) if known == :http2

          @core.bring(socket.fileno, @number, address) if known
        rescue SystemCallError, IOError
          nil # it is gone
        ensure
          socket.close
        end

        # @return [Symbol, nil] nil: it has said nothing in time
        def listen_to(socket)
          deadline = Deadline.after(@options.head_timeout)
          while socket.wait_readable(deadline&.remaining)
            bytes = socket.recv(SIGN.bytesize, Socket::MSG_PEEK)
            return if bytes.empty? || deadline&.expired?
            return :http2 if bytes == SIGN
            return :http1 unless SIGN.start_with?(bytes)

            sleep(LOOK) # the rest makes it no more readable than it is
          end
        ensure
          @silent.delete(socket)
        end

        def serve(socket, address)
          connection = Connection.new(socket, @options) { bring(address) }
          @inside[connection] = true
          connection.drain if @closed
          connection.run
        ensure
          @inside.delete(connection)
        end

        # @return [UNIXSocket] our end
        def bring(address)
          ours, theirs = UNIXSocket.pair
          @core.bring(theirs.fileno, @http2_number, address)
          ours
        ensure
          theirs&.close # the core has a descriptor of its own
        end
      end
    end
  end
end
