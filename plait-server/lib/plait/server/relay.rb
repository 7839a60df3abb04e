# frozen_string_literal: true

require "plait/io/stream"

module Plait
  class Server
    # Carries bytes between a peer that speaks TLS and an app that has taken the connection over: what apps do with a hijacked
    # connection needs a socket of the system.
    class Relay
      # Bytes at once: a record of TLS.
      RECORD = 16 * 1024
      # Seconds for a peer to end what it sends, when all was said, and between two looks whether it has.
      LINGER = 1
      LOOK = 0.01
      ENDS = [Error, SystemCallError, IOError].freeze

      class << self
        # @param secure [OpenSSL::SSL::SSLSocket] after its handshake; it owns its descriptor
        # @return [UNIXSocket] for the app
        def begin(secure)
          plain, apps = UNIXSocket.pair
          relay = new(Io::Stream.new(secure), plain)
          beside { relay.ask }
          beside { relay.answer }
          apps
        end

        private

        # On the loop of the app, if that has one.
        def beside(&half) = Fiber.current_scheduler ? Fiber.schedule(&half) : Thread.new(&half)
      end

      # @param stream [Io::Stream] of the peer
      # @param plain [UNIXSocket] to the app
      def initialize(stream, plain)
        @stream = stream
        @plain = plain
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

      # What the app says, until it ends: then all is over.
      def answer
        piece = empty
        while (got = @plain.read_nonblock(RECORD, piece, exception: false))
          got == :wait_readable ? await(piece) : @stream.write(piece)
        end
        say_goodbye
      rescue *ENDS
        nil
      ensure
        close
      end

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

      # What the peer still sends has to be read: a reset would overtake what was said.
      def say_goodbye
        @stream.io.say_goodbye if @stream.tls?
        @stream.io.to_io.shutdown(:WR)
        deadline = Deadline.after(LINGER)
        sleep(LOOK) until @asked || deadline.expired?
      end

      def finish_asking
        @asked = true
        @plain.close_write
      rescue *ENDS
        nil # the app has closed it
      end
    end
    private_constant :Relay
  end
end
