# frozen_string_literal: true

require "json"
require "securerandom"
require "plait/mechanisms/mechanism"
require "plait/mechanisms/time_limit"
require "plait/values/deadline"
require "plait/values/errors"

module Plait
  module Mechanisms
    class Sidekiq < Mechanism
      # The Redis behind Sidekiq.
      module Redis
        # Seconds between two attempts while it is away.
        PAUSE = 0.5
        # What it answers while it starts, is full, or another one becomes the primary.
        PASSING = /\A(LOADING|OOM|BUSY|TRYAGAIN|NOREPLICAS|READONLY|MASTERDOWN|CLUSTERDOWN) /

        class << self
          # Connections of its own, as the program has configured Sidekiq's. (Sidekiq's way to get some logs a line at each run.)
          # @param size [Integer]
          # @return [ConnectionPool]
          def pool(size)
            ::Sidekiq.redis do |connection|
              kind = connection.class
              config = connection.config
              ConnectionPool.new(size: size) { kind.new(config.new_client) }
            end
          end

          # @return [Object] what the block returns
          # @raise [ConnectionError]
          def reached
            yield
          rescue ::RedisClient::Error => e
            raise error(e)
          end

          # Tries again while Redis is away, or can't just now.
          # @param seconds [Numeric] at most
          # @yieldreturn [Object]
          # @return [Object] what the block returns
          # @raise [RedisClient::Error] it is still away, or this is no such error
          def patiently(seconds, only: method(:passing?))
            limit = Deadline.after(seconds)
            begin
              yield
            rescue ::RedisClient::Error => e
              raise if limit.expired? || !only.call(e)

              sleep(PAUSE)
              retry
            end
          end

          # @param error [Exception]
          # @return [Boolean] whether it may be over soon
          def passing?(error) = error.is_a?(::RedisClient::ConnectionError) || PASSING.match?(error.message)

          # @param error [Exception]
          # @return [Boolean] whether what was to be done was certainly not done, and may be soon
          def untouched?(error) = error.is_a?(::RedisClient::CannotConnectError) || error.message.start_with?("LOADING ")

          # @param cause [Exception]
          # @return [Exception]
          def error(cause)
            return cause unless cause.is_a?(::RedisClient::Error)

            endpoint = cause.config&.server_url if cause.respond_to?(:config)
            ConnectionError.new("the Redis of Sidekiq can't be reached, or refuses (#{cause.message}): see REDIS_URL, or what " \
                                "Sidekiq.configure_client says", endpoint: endpoint)
          end
        end
      end

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

        def open
          want
          pipeline do |redis|
            redis.call("XADD", @stream, "*", "news", "[]")
            redis.call("EXPIRE", @stream, 2 * LIFE)
          end
        end

        # A sign of life, unless the run is over; forgets the news that were read. A full Redis allows this, but not in a
        # transaction.
        # @raise [ConnectionError] when Redis has lost the news
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
        def replace(copy) = @redis.with { |redis| redis.call("HSET", @key, copy, "replaced") }

        # @return [Boolean] whether the news read since the last sign of life take much memory in Redis
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
        def knock = tell([])

        # Its results are no longer wanted.
        def revoke
          @revoked = true
          @redis.with { |redis| redis.call("DEL", @key) }
        end

        def close = @redis.with { |redis| redis.call("DEL", @key, @stream) }

        # A worker's.

        # @param copy [String, nil] of an item, as {Run} names it
        # @return [Boolean] whether the run is, and no other copy has replaced this one
        def wanted?(copy = nil)
          wanted, replaced = @redis.with { |redis| redis.call("HMGET", @key, "wanted", *copy) }
          !wanted.nil? && replaced.nil?
        end

        # @param news [Array] of plain values; unless the run is over
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

      # Waits for the news of a run, in a thread of its own: its caller waits at a queue, so that Ctrl-C, timeouts and event loops
      # reach it. It gives the signs of life, too.
      class Listener
        # Seconds between two ticks, at which the caller looks for lost items.
        TICK = 1.0
        # Seconds between two signs of life.
        BEAT = 10
        # Seconds for which Redis may be away.
        OUTAGE = 30

        # @param channel [Channel]
        # @param deadline [Deadline, nil] there is a tick at this moment, with or without Redis
        # @return [Listener] at work
        def initialize(channel, deadline)
          @channel = channel
          @news = Thread::Queue.new
          @beaten = @heard = Deadline.now
          @alarm = start { ring(deadline) } if deadline
          @thread = start { carry }
        end

        # @return [Array, :tick, StandardError, nil] waits for it; nil: there will be none
        def take = @news.pop

        def any? = !@news.empty?

        # @param seconds [Float, nil] that a silent Redis may hold it up; then the thread ends by itself
        def stop(seconds = nil)
          @over = true
          @alarm&.kill&.join
          knock(seconds)
          @thread.join(seconds)
        end

        private

        # A thread inherits what its caller holds back: a kill would wait for the end of the alarm.
        def start(&) = Thread.new { Thread.handle_interrupt(Object => :immediate, &) }

        def knock(seconds)
          seconds ? TimeLimit.enforce(seconds) { @channel.knock } : @channel.knock
        rescue StandardError
          nil # Redis is away: the thread sees that it is over
        end

        # Also while Redis is silent.
        def ring(deadline)
          sleep(deadline.remaining)
          @news << :tick
        rescue ClosedQueueError
          nil
        end

        def carry
          listen until @over
        rescue StandardError => e
          @news << e
        ensure
          @news.close
        end

        def listen
          @channel.listen(TICK).each { |news| @news << news }
          @heard = Deadline.now
          beat if @heard > @beaten + BEAT || @channel.heavy?
          @news << :tick if @news.empty? # with news the caller looks anyhow
        rescue ::RedisClient::Error => e
          raise if Deadline.now > @heard + OUTAGE || !Redis.passing?(e)

          sleep(Redis::PAUSE)
        end

        def beat
          @channel.beat
          @beaten = Deadline.now
        end
      end
      private_constant :Redis, :Channel, :Listener
    end
  end
end
