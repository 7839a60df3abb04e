# frozen_string_literal: true

require "json"
require "securerandom"
require_relative "../mechanism"

module Plait
  module Mechanisms
    class Sidekiq < Mechanism
      # What a run has in Redis: a key that is there as long as its results are wanted, and a stream with the news of its items.
      # Both go by themselves soon after a caller that was killed. A stream, since what is read from it stays until that has
      # arrived; what is popped from a list is lost with its connection.
      class Channel
        # Seconds for which the run is wanted after the caller's last sign of life.
        LIFE = 60
        # News at once.
        PAGE = 100
        # Seconds that an answer may take beyond the time for which it was waited.
        SLACK = 5

        # @return [String] by which workers find it
        attr_reader :id

        # @param redis [#with] a pool of connections
        # @param id [String]
        def initialize(redis, id = SecureRandom.hex(12))
          @redis = redis
          @id = id
          @key = "plait:run:#{id}"
          @stream = "#{@key}:news"
          @last = "0"
        end

        # The caller's.

        # @return [void]
        def open
          transaction do |redis|
            redis.call("SET", @key, "1", "EX", LIFE)
            redis.call("XADD", @stream, "*", "news", "[]")
            redis.call("EXPIRE", @stream, 2 * LIFE)
          end
        end

        # A sign of life, unless nobody wants it any more; forgets what was read.
        # @return [void]
        def beat
          return if @revoked

          transaction do |redis|
            redis.call("SET", @key, "1", "EX", LIFE)
            redis.call("EXPIRE", @stream, 2 * LIFE)
            redis.call("XTRIM", @stream, "MINID", @last)
          end
        end

        # @param seconds [Float] to wait for any
        # @return [Array<Array>] see {#tell}
        def listen(seconds)
          milliseconds = [(seconds * 1000).ceil, 1].max
          command = ["XREAD", "COUNT", PAGE, "BLOCK", milliseconds, "STREAMS", @stream, @last]
          reply = @redis.with { |redis| redis.blocking_call(seconds + SLACK, *command) } or return []
          entries_of(reply).map do |id, (_, news)|
            @last = id
            JSON.parse(news)
          end
        end

        # Ends a wait in {#listen}.
        # @return [void]
        def knock = tell([])

        # Its results are no longer wanted.
        # @return [void]
        def revoke
          @revoked = true
          @redis.with { |redis| redis.call("DEL", @key) }
        end

        # @return [void]
        def close = @redis.with { |redis| redis.call("DEL", @key, @stream) }

        # A worker's.

        # @return [Boolean]
        def wanted? = @redis.with { |redis| redis.call("EXISTS", @key) }.positive?

        # @param news [Array] of plain values; unless the run is over
        # @return [void]
        def tell(news)
          @redis.with { |redis| redis.call("XADD", @stream, "NOMKSTREAM", "*", "news", JSON.generate(news)) }
        end

        private

        def transaction(&block) = @redis.with { |redis| redis.multi(&block) }

        # By RESP3 a Hash, by RESP2 pairs.
        def entries_of(reply) = reply.is_a?(Hash) ? reply.values.first : reply.first.last
      end
    end
  end
end
