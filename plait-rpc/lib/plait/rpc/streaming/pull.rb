# frozen_string_literal: true

require "plait/values/deadline"
require "plait/values/errors"
require_relative "../streaming"

module Plait
  module RPC
    module Streaming
      # The caller's side of a result: asks for chunks, and for the next ones while these are used.
      class Pull
        # Seconds for the word that no more is wanted.
        PATIENCE = 1

        # @param connection [Connection]
        # @param id [Integer] of the call
        # @param pump [Pump, nil] that sends an argument meanwhile
        # @yieldreturn [Float, nil] seconds to wait for chunks, from now on
        def initialize(connection, id, pump, &patience)
          @connection = connection
          @id = id
          @pump = pump
          @patience = patience
        end

        # @yieldparam chunk [Object]
        # @return [void]
        def each(&block)
          last = false
          ask
          until last
            chunks, last = answer
            last ? @over = true : ask
            chunks.each(&block)
          end
        rescue RemoteError => e
          @over = true
          raise @pump&.error || e
        rescue ConnectionClosed => e
          raise e unless e.retry_safe?

          # What was not sent is a wish for more: the method runs.
          raise ConnectionClosed.new("#{e.message}: the stream is not whole", endpoint: e.endpoint, retry_safe: false)
        ensure
          close
        end

        # @return [void]
        def close
          @pump&.stop
          @asked&.cancel
          @connection.notify(CLOSE, [@id], limit: Deadline.now + PATIENCE) unless @over || @connection.closed?
        rescue ConnectionError, TimeoutError
          nil # it is gone, and with it the stream
        ensure
          @over = true
          @asked = nil
        end

        private

        def ask = @asked = @connection.call(NEXT, [@id])

        def answer
          seconds = @patience.call
          return @asked.value if @asked.join(seconds)

          raise ReadTimeout.new("#{@connection.endpoint} sent no chunk in #{format("%g", seconds)} s",
                                endpoint: @connection.endpoint)
        end
      end
    end
  end
end
