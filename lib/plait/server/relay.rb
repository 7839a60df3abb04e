# frozen_string_literal: true

require "io/wait"
require_relative "../values/deadline"
require_relative "../values/errors"

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
        while (bytes = @stream.read_partial(RECORD))
          @plain.write(bytes)
        end
      rescue *ENDS
        nil # the other half sees it too
      ensure
        finish_asking
      end

      # What the core answers, until it ends: then all is over.
      # @return [void]
      def answer
        while (bytes = @plain.read_nonblock(RECORD, exception: false))
          bytes == :wait_readable ? @plain.wait_readable : pass_on(bytes)
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
