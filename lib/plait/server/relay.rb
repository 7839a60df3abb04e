# frozen_string_literal: true

require_relative "../values/deadline"
require_relative "../values/errors"

module Plait
  class Server
    # Carries bytes between a peer that speaks TLS and the core that does not.
    class Relay
      # Bytes at once: a record of TLS.
      RECORD = 16 * 1024
      ENDS = [Error, SystemCallError, IOError].freeze

      # @param stream [Io::Stream] of the peer
      # @param plain [UNIXSocket] to the core
      # @param timeout [Numeric, nil] seconds that the peer may take nothing
      def initialize(stream, plain, timeout)
        @stream = stream
        @plain = plain
        @timeout = timeout
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
        loop { @stream.write(@plain.readpartial(RECORD), deadline: @timeout && Deadline.after(@timeout)) }
      rescue *ENDS
        nil
      ensure
        @stream.close
        @plain.close
      end

      private

      def finish_asking
        @plain.close_write
      rescue *ENDS
        nil # it was the core that has ended
      end
    end
  end
end
