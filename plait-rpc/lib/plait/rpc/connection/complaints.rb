# frozen_string_literal: true

require "plait/values/errors"

module Plait
  module RPC
    class Connection
      # What is said to those whose call has no answer: exceptions, to be raised.
      module Complaints
        # @param reason [Exception, String] why the connection is over: an error of the socket or the protocol; a String: what
        #   was done here
        # @param retry_safe [Boolean] whether nothing of what was asked can have been run
        # @param about [String] what was asked, for the message
        # @return [Plait::Error]
        # @api private
        def complaint(reason, retry_safe: true, about: "the call")
          fate = retry_safe ? "#{about} was not sent" : "#{about} has no answer, and may have run"
          return broken(reason, fate, retry_safe) if reason.is_a?(RemoteProtocolError)

          ConnectionClosed.new("#{ending(reason)}: #{fate}", endpoint: @endpoint, retry_safe: retry_safe)
        end

        # @param future [Future]
        # @return [ReadTimeout]
        # @api private
        def late_answer(future)
          ReadTimeout.new("#{peer} did not answer #{future.method_name} in time", endpoint: @endpoint)
        end

        # @return [UsageError]
        # @api private
        def reads_here
          UsageError.new("#{peer} can't be waited for here: this thread reads its answers already, below a signal handler or " \
                         "in another fiber. Call it from a thread of its own: trap(:TERM) { Thread.new { client.call(...) } }")
        end

        private

        def broken(reason, fate, retry_safe)
          reason.exception("#{peer}: #{reason.message}; #{fate}").tap { |error| error.retry_safe = retry_safe }
        end

        def ending(reason)
          case reason
          when EOFError then "#{peer} closed the connection"
          when Exception then "the connection to #{peer} failed (#{reason.message})"
          else "the connection to #{peer} #{reason}"
          end
        end

        # @param said [false, nil] nil: it will still be sent, if the peer ever reads
        def late_to_send(said)
          WriteTimeout.new("#{peer} does not take what is sent in time", endpoint: @endpoint, retry_safe: said == false)
        end

        def peer = @endpoint || "the peer"
      end
    end
  end
end
