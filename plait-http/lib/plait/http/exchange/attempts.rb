# frozen_string_literal: true

require "plait/values/deadline"
require "plait/values/errors"

module Plait
  module HTTP
    class Exchange
      # How often a message was sent, and whether it may be sent again.
      class Attempts
        # How often a message of which the peer has done nothing goes to another connection, at once and uncounted. A server
        # of HTTP/2 may turn away at any time whoever waits.
        TURNED_AWAY = 100
        private_constant :TURNED_AWAY

        # @param retries [Retries]
        # @param deadline [Float, nil] monotonic seconds
        def initialize(retries, deadline)
          @retries = retries
          @deadline = deadline
          start_anew
        end

        # Another message, or another attempt: nothing of it has been sent.
        # @return [void]
        def begin
          @count += 1
          @stale = @sending = false
        end

        # With another message, that of a redirect.
        # @return [void]
        def start_anew
          @count = @revived = 0
          @anew = false
        end

        # From now on a body may be used up.
        # @return [void]
        def sending = @sending = true

        # The connection had been kept, and is closed without an answer: the peer perhaps closed it before it saw the message.
        # @return [void]
        def stale = @stale = true

        # @return [Boolean] whether the message is to have a connection that nobody has used before
        def anew? = @anew

        # Waits until the next attempt.
        # @param error [Error] that ended the last one
        # @param message [Message]
        # @return [Boolean] false: there is none
        def again?(error, message)
          return false if @sending && !message.replayable?

          revive?(error, message) || retry?(error, message)
        end

        # @param response [Response]
        # @param message [Message]
        # @return [Float, nil] seconds until the next attempt; nil: there is none
        def pause_after(response, message)
          pause = @retries.pause_after(response, @count) if message.repeatable?
          pause unless pause.nil? || late?(pause)
        end

        def to_s = @count > 1 ? ", tried #{@count} times" : ""

        private

        # A stale connection says nothing of the server: a new one is made at once, and not counted; where one kept
        # connection was stale the next one may be, too. Where the peer has perhaps seen the message that is done once.
        def revive?(error, message)
          return false unless @stale && (error.retry_safe? ? @revived < TURNED_AWAY : @revived.zero? && message.repeatable?)

          @count -= 1
          @revived += 1
          @anew = true
        end

        def retry?(error, message)
          return false unless @count <= @retries.count && @retries.worth?(error, message.repeatable?)

          pause = @retries.pause(@count)
          return false if late?(pause)

          sleep(pause)
          true
        end

        def late?(pause) = @deadline && Deadline.now + pause >= @deadline
      end
    end
  end
end
