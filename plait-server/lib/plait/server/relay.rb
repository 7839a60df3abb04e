# frozen_string_literal: true

require "io/wait"
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
      # @return [void]
      def ask
        piece = empty
        hand_in(piece) while @stream.read_partial(RECORD, piece)
      rescue *ENDS
        nil # the other half sees it too
      ensure
        finish_asking
      end

      # What the core answers, until it ends: then all is over.
      # @return [void]
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
      # @return [void]
      def close
        @stream.io.to_io.shutdown
      rescue *ENDS
        nil # it was the peer who has ended
      ensure
        @stream.close
        @plain.close
      end

      private

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
  end
end
