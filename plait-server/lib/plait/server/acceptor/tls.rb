# frozen_string_literal: true

require "io/wait"
require_relative "../acceptor"
require "plait/protocols/http2/frames"
require "plait/values/deadline"
require "plait/values/errors"

module Plait
  class Server
    # Carries bytes between a peer that speaks TLS and the core that does not.
    class Relay
      # Bytes at once: a record of TLS.
      RECORD = 16 * 1024
      # Seconds for a peer to end what it sends, when all was said, and between two looks whether it has.
      LINGER = 1
      LOOK = 0.01
      ENDS = [Error, SystemCallError, IOError].freeze

      # @param stream [Io::Stream] of the peer
      # @param plain [UNIXSocket] to the core
      # @param timeout [Numeric, nil] seconds that the peer may take nothing
      # @yieldreturn [Boolean] whether what the core has said is a whole, when it has ended
      def initialize(stream, plain, timeout, &whole)
        @stream = stream
        @plain = plain
        @timeout = timeout
        @whole = whole
      end

      # What the peer sends, until it ends.
      def ask
        piece = empty
        hand_in(piece) while @stream.read_partial(RECORD, piece)
      rescue *ENDS
        nil # the other half sees it too
      ensure
        finish_asking
      end

      # What the core answers, until it ends: then all is over.
      def answer
        piece = empty
        while (got = @plain.read_nonblock(RECORD, piece, exception: false))
          got == :wait_readable ? await(piece) : pass_on(piece)
        end
        say_goodbye if @whole.call
      rescue *ENDS
        nil
      ensure
        close
      end

      # Without a goodbye: if there was none, something was cut, and the peer has to see that.
      def close
        @stream.io.to_io.shutdown
      rescue *ENDS
        nil # the peer has ended
      ensure
        close_both
      end

      private

      # The end of the server may cancel a fiber that closes the first one.
      def close_both
        @stream.close
      ensure
        @plain.close
      end

      # One String for all that goes one way: with a new one for each record the collector had three times the bytes to see to.
      def empty = String.new(encoding: Encoding::BINARY)

      # Its memory is given back: most connections wait for most of the time.
      def await(piece)
        piece.clear
        @plain.wait_readable
      end

      # Not by IO#write: with Ruby 3.3 a String is copied by what changes it after that.
      def hand_in(piece)
        done = 0
        while done < piece.bytesize
          sent = @plain.write_nonblock(done.zero? ? piece : piece.byteslice(done..), exception: false)
          sent == :wait_writable ? @plain.wait_writable : done += sent
        end
      end

      def pass_on(bytes) = @stream.write(bytes, deadline: @timeout && Deadline.after(@timeout))

      # What the peer still sends has to be read: a reset would overtake what was said.
      def say_goodbye
        @stream.io.say_goodbye
        @stream.io.to_io.shutdown(:WR)
        deadline = Deadline.after(LINGER)
        sleep(LOOK) until @asked || deadline.expired?
      end

      def finish_asking
        @asked = true
        @plain.close_write
      rescue *ENDS
        nil # it was the core that has ended
      end
    end

    class Acceptor
      # Lets in peers that speak TLS: the core sees of each connection what was decrypted, by a pair of sockets. So there is one
      # engine for both; a connection costs two fibers, or threads, while it lasts, and one of HTTP/2 costs one.
      class TLS < Acceptor
        # Handshakes at once; others wait in the kernel. A thread costs more than a fiber.
        HANDSHAKES = Hash.new(1024).merge(threads: 64).freeze
        # Of a relay's descriptors that which the core counts, as one of its connections.
        CORES = 1

        private

        def most_arriving = HANDSHAKES[@options.on]

        # Whether bytes of the peer wait to be read: then this server is slow, and the peer must not be ended for it.
        def unread?(socket)
          socket.recv_nonblock(1, Socket::MSG_PEEK, exception: false) != :wait_readable
        rescue SystemCallError, IOError
          true # it is gone; the reader sees that
        end

        # A peer that does not speak TLS is closed by its failed handshake.
        def let_in(socket, &start)
          stream = shake_hands(socket)
          address = address_of(socket)
          return serve_http2(stream.io, address) if Protocols::HTTP2.spoken?(stream.io)

          relay = relay_to(address, stream)
          release(socket, CORES)
        rescue Error, SystemCallError, IOError
          nil # closed below
        else
          start.call(-> { answer(relay) })
          relay.ask
        ensure
          release(socket)
          socket.close unless relay
        end

        def relay_to(address, stream)
          plain, ticket = bring(address, @number)
          Relay.new(stream, plain, @options.write_timeout) { !@core.cut?(ticket) }.tap { |relay| @relays[relay] = true }
        end

        def answer(relay)
          relay.answer
        ensure
          @core.hold(CORES - EACH) if @relays.delete(relay)
        end

        def shake_hands(socket)
          @listener.stream(socket, deadline: Deadline.after(@options.handshake_timeout))
        ensure
          @arriving.delete(socket)
        end
      end
    end
    private_constant :Relay
  end
end
