# frozen_string_literal: true

require "json"
require "securerandom"
require "plait/mechanisms/mechanism"
require "plait/values/errors"

module Plait
  module Mechanisms
    class Sidekiq < Mechanism
      # What a run has in Redis: a key that is there as long as its results are wanted (a hash that names the replaced copies
      # of its items), and a stream with the news of its items.
      # Both go by themselves soon after a caller that was killed. A stream, since what is read from it stays until that has
      # arrived; what is popped from a list is lost with its connection.
      class Channel
        # Seconds for which the run is wanted after the caller's last sign of life.
        LIFE = 60
        # News at once.
        PAGE = 100
        # Bytes of what was read that may stay in Redis until the next sign of life.
        MUCH = 4 * 1024 * 1024
        # Seconds that an answer may take beyond the time for which it was waited.
        SLACK = 5
        LOST = "Redis has lost the results of this run: it was restarted without its data, or flushed, or has evicted them " \
               "(Sidekiq needs maxmemory-policy noeviction); or this process was stopped for more than #{2 * LIFE} s. Items " \
               "without a result may have been run".freeze
        private_constant :LOST

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
          @read = 0
        end

        # The caller's.

        # @return [void]
        def open
          want
          pipeline do |redis|
            redis.call("XADD", @stream, "*", "news", "[]")
            redis.call("EXPIRE", @stream, 2 * LIFE)
          end
        end

        # A sign of life, unless nobody wants it any more; forgets what was read. A Redis that is full allows this, but
        # not in a transaction.
        # @return [void]
        # @raise [ConnectionError] what was told is no longer there
        def beat
          return if @revoked

          wanted, kept, = pipeline do |redis|
            redis.call("EXPIRE", @key, LIFE)
            redis.call("EXPIRE", @stream, 2 * LIFE)
            redis.call("XTRIM", @stream, "MINID", @last)
          end
          raise ConnectionError, LOST if kept.zero?

          @read = 0
          want if wanted.zero?
        end

        # A copy of an item that is not taken from its queue yet must not run any more.
        # @param copy [String] see {#wanted?}
        # @return [void]
        def replace(copy) = @redis.with { |redis| redis.call("HSET", @key, copy, "replaced") }

        # @return [Boolean] whether very much was read since the last sign of life, and takes memory there
        def heavy? = @read > MUCH

        # @param seconds [Float] to wait for any
        # @return [Array<Array>] see {#tell}
        def listen(seconds)
          milliseconds = [(seconds * 1000).ceil, 1].max
          command = ["XREAD", "COUNT", PAGE, "BLOCK", milliseconds, "STREAMS", @stream, @last]
          reply = @redis.with { |redis| redis.blocking_call(seconds + SLACK, *command) } or return []
          entries_of(reply).map do |id, (_, news)|
            @last = id
            @read += news.bytesize
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

        # @param copy [String, nil] of an item, as {Run} names it
        # @return [Boolean] whether the run is, and no other copy has replaced this one
        def wanted?(copy = nil)
          wanted, replaced = @redis.with { |redis| redis.call("HMGET", @key, "wanted", *copy) }
          !wanted.nil? && replaced.nil?
        end

        # @param news [Array] of plain values; unless the run is over
        # @return [void]
        def tell(news)
          @redis.with { |redis| redis.call("XADD", @stream, "NOMKSTREAM", "*", "news", JSON.generate(news)) }
        end

        private

        def want
          pipeline do |redis|
            redis.call("HSET", @key, "wanted", "1")
            redis.call("EXPIRE", @key, LIFE)
          end
        end

        def pipeline(&block) = @redis.with { |redis| redis.pipelined(&block) }

        # By RESP3 a Hash, by RESP2 pairs.
        def entries_of(reply) = reply.is_a?(Hash) ? reply.values.first : reply.first.last
      end
    end
  end
end
