# frozen_string_literal: true

require_relative "http2/connection"

module Plait
  class Server
    # Accepts the connections of a listening socket whose protocol shows first, by TLS ({TLS}) or by their first bytes
    # ({Cleartext}), and brings them to the core.
    class Acceptor
      # Seconds between two looks whether there is room for another one.
      LOOK = 0.02
      # Seconds that a connection may take to arrive while others wait; after that it makes room for them.
      PATIENCE = 1
      # Descriptors of a connection; HTTP/2 counts its streams apart.
      EACH = 1
      # Of a connection of HTTP/2, beside it: its reactor's.
      REACTOR = 2
      # Of a stream: a pair of sockets.
      PAIR = 2

      # @param numbers [Array<Integer>] as the core knows the listener: for HTTP/1.1, and for HTTP/2
      def initialize(listener, core, numbers, options)
        @listener = listener
        @core = core
        @number, @http2_number = numbers
        @options = options
        @arriving = {}.compare_by_identity # sockets whose protocol is not known yet: when each came, the oldest first
        @sockets = {}.compare_by_identity # admitted connections that the core has not
        @multiplexed = {}.compare_by_identity # connections of HTTP/2: how many slots of each are counted as descriptors
      end

      # Accepts until it is closed.
      # @yield starts a job beside it
      def run
        @listener.each do |socket|
          @core.hold(EACH)
          @sockets[socket] = true
          @arriving[socket] = Deadline.now
          yield -> { let_in(socket) }
          make_room while full? && !@closed
        end
      end

      # Accepts no more connections; the connections that are in get their answers.
      def close
        @closed = true
        @listener.close
        @multiplexed.keys.each(&:drain) # rubocop:disable Style/HashEachMethods -- others may leave meanwhile
      end

      # Closes connections that were admitted, and got no job.
      def clear = @arriving.each_key(&:close)

      # Counts the descriptors of slots that have ended no more.
      def recount
        @multiplexed.keys.each { |connection| count_slots(connection) } # rubocop:disable Style/HashEachMethods -- likewise
      end

      # @return [Boolean] whether an answer is not sent yet
      def busy? = !@multiplexed.empty?

      # @return [Boolean] whether a connection is in that has not shown yet what it speaks
      def arriving? = !@sockets.empty?

      private

      def full?
        connections = @options.connections
        count = @arriving.size
        count >= most_arriving || (connections && inside + count >= connections) || short?(EACH)
      end

      # Whether so many more would take of the app's descriptors. Slots counted theirs when they opened.
      def short?(count)
        return false if @core.room?(count)

        recount
        !@core.room?(count)
      end

      def count_slots(connection, slots = connection.slots)
        before = @multiplexed[connection] or return
        @multiplexed[connection] = slots
        @core.hold(slots - before)
      end

      # The core counts an admitted connection from now on.
      def release(socket) = (@core.hold(-EACH) if @sockets.delete(socket))

      # A connection of HTTP/2 counts, and each of its streams.
      def inside = @core.statistics.fetch(:connections) + @multiplexed.size

      # Other connections wait in the kernel meanwhile: silent peers must not keep them out.
      def make_room
        socket = slowest
        return sleep(LOOK) unless socket

        @arriving.delete(socket)
        socket.shutdown
      rescue SystemCallError, IOError
        nil # it is gone by itself
      end

      # @return [Socket, nil] of the peer that is silent for longest, and for too long
      def slowest
        @arriving.find do |socket, came|
          break if Deadline.now - came <= PATIENCE

          !unread?(socket)
        end&.first
      end

      def serve_http2(io, address)
        return if short?(REACTOR) # the peer finds it closed

        held = @core.hold(REACTOR)
        connection = HTTP2::Connection.new(io, @options) { bring_stream(connection, address) }
        @multiplexed[connection] = 0
        connection.drain if @closed
        connection.run
      ensure
        @core.hold(-(@multiplexed.delete(connection) || 0) - REACTOR) if held
      end

      # @raise [Errno::EMFILE] then its stream is refused
      def bring_stream(connection, address)
        raise Errno::EMFILE if short?(PAIR)

        bring(address).tap { count_slots(connection, connection.slots + 1) }
      end

      # @return [UNIXSocket] our end of a connection to the core
      def bring(address)
        ours, theirs = UNIXSocket.pair
        brought = @core.bring(theirs.fileno, @http2_number, address)
        ours
      ensure
        theirs&.close # the core has a descriptor of its own
        ours&.close unless brought
      end

      def address_of(socket) = socket.remote_address.then { |remote| remote.ip? ? remote.ip_address : "127.0.0.1" }

      # Lets in peers without TLS, by HTTP/2 or HTTP/1.1 (RFC 9113 §3.3): their first bytes tell which, and stay
      # where they are. Connections of HTTP/1.1 go to the core as they are.
      class Cleartext < Acceptor
        # Bytes that no request of HTTP/1.1 begins with.
        SIGN = Protocols::HTTP2::PREFACE.byteslice(0, 16)
        # Connections at once with an unknown protocol; others wait in the kernel.
        SILENT = 1024

        private

        def most_arriving = SILENT

        # The bytes stay in the socket, so they don't show which peer is slow.
        def unread?(_socket) = false

        def let_in(socket)
          known = listen_to(socket)
          address = address_of(socket)
          return serve_http2(socket, address) if known == :http2

          @core.bring(socket.fileno, @number, address) if known
        rescue SystemCallError, IOError
          nil # it is gone
        ensure
          release(socket)
          socket.close
        end

        # @return [Symbol, nil] nil: the peer sent nothing in time
        def listen_to(socket)
          deadline = Deadline.after(@options.head_timeout)
          pause = LOOK
          while socket.wait_readable(deadline&.remaining)
            bytes = socket.recv(SIGN.bytesize, Socket::MSG_PEEK).to_s # from Ruby 3.3 on its end is nil
            return if bytes.empty? || deadline&.expired?
            return :http2 if bytes == SIGN
            return :http1 unless SIGN.start_with?(bytes)

            sleep(pause) # the rest makes it no more readable than it is
            pause = [pause * 2, PATIENCE].min
          end
        ensure
          @arriving.delete(socket)
        end
      end
    end
    private_constant :Acceptor
  end
end
