# frozen_string_literal: true

require_relative "../../values/errors"

module Plait
  module RPC
    class Connection
      # How a connection ends, and what is said to those who waited.
      module Endings
        # @param reason [Exception, String] why the connection is over
        # @param retry_safe [Boolean] whether nothing of what was asked can have been run
        # @param about [String] what was asked, for the message
        # @return [Plait::Error] to be raised
        # @api private
        def complaint(reason, retry_safe: true, about: "the call")
          fate = retry_safe ? "#{about} was not sent" : "#{about} has no answer, and may have run"
          return named(reason, fate) if reason.is_a?(RemoteProtocolError)

          what = case reason
                 when EOFError then "#{peer} closed the connection"
                 when Exception then "the connection to #{peer} failed (#{reason.message})"
                 else "the connection to #{peer} #{reason}"
                 end
          ConnectionClosed.new("#{what}: #{fate}", endpoint: @endpoint, retry_safe: retry_safe)
        end

        private

        # Under the lock. Every call that has no answer fails at once.
        # @param reason [Exception, String] an error of the socket or the protocol; a String: what was done here
        # @return [void]
        def finish(reason)
          return if @over

          @over = reason
          @unsent = false
          @farewell = !@dispatcher.nil?
          fail_calls(reason)
          @sleeping&.each_key(&:wake)
          @reader || @drainer || @served ? @wire.shut : release
        end

        def fail_calls(reason)
          calls, @calls = @calls, nil
          sent = @wire.sent
          calls&.each_value { |future| future.settle(future.sent?(sent) ? :lost : :unsent, reason) }
        end

        # Not under the lock: the dispatcher may have one of its own. It lets go of the descriptor before it is closed.
        def tell_end
          @dispatcher.closed(self, @over.is_a?(EOFError) || @over.is_a?(String) ? nil : @over)
          @wire.close if @served
        end

        def named(error, fate) = error.exception("#{peer}: #{error.message}; #{fate}")

        def late_to_send
          WriteTimeout.new("#{peer} does not take what is sent in time", endpoint: @endpoint, retry_safe: true)
        end

        def peer = @endpoint || "the peer"
      end
    end
  end
end
