# frozen_string_literal: true

require "time"
require "plait/cli/command"
require "plait/values/backoff"

module Plait
  module CLI
    class Fetch < Command
      # Whether a request is made again, and when: what the server asks for (Retry-After, RFC 9110 §10.2.3), else
      # exponential backoff with jitter.
      class Retries
        # Statuses that say that the same request may do better later.
        TRANSIENT = [408, 429, 502, 503, 504].freeze
        # Those with which a server says that it is asked too much.
        BUSY = [429, 503].freeze
        PAUSES = Backoff.new(base: 0.5, max: 30.0)

        # @param result [Result]
        # @param now [Time]
        # @return [Float, nil] seconds for which the server wants to be left alone
        def self.asked(result, now = Time.now)
          return unless result.status && BUSY.include?(result.status)

          text = result.header("retry-after").to_s.strip
          return text.to_f if text.match?(/\A\d{1,9}\z/)

          [Time.httpdate(text) - now, 0.0].max
        rescue ArgumentError
          nil # no date of HTTP
        end

        # @param count [Integer] how often at most
        def initialize(count)
          @count = count
        end

        # @param job [Job] its attempts include the one that brought the result
        # @param result [Result]
        # @return [Boolean]
        def again?(job, result)
          job.attempts <= @count && (result.transient || TRANSIENT.include?(result.status))
        end

        # @param attempts [Integer] made until now
        # @return [Float] seconds to wait for
        def pause(attempts) = PAUSES.pause(attempts)
      end
    end
  end
end
