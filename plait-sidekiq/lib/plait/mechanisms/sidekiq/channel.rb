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
        # Seconds between two attempts while it is unreachable.
        PAUSE = 0.5
        # Its errors during a start, with full memory, or during a failover.
        PASSING = /\A(LOADING|OOM|BUSY|TRYAGAIN|NOREPLICAS|READONLY|MASTERDOWN|CLUSTERDOWN) /

        class << self
          # Connections of its own, as the program has configured Sidekiq's. (Sidekiq's way to get some logs a line at each run.)
          # @return [ConnectionPool]
          def pool(size)
            ::Sidekiq.redis do |connection|
              kind = connection.class
              config = connection.config
              ConnectionPool.new(size: size) { kind.new(config.new_client) }
            end
          end

          # @return [Object] the block's value
          # @raise [ConnectionError]
          def reached
            yield
          rescue ::RedisClient::Error => e
            raise error(e)
          end

          # Tries again while Redis is unreachable, or has a passing error.
          # @param seconds [Numeric] at most
          # @yieldreturn [Object]
          # @return [Object] the block's value
          # @raise [RedisClient::Error] after that time, or for another error
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

          # @return [Boolean] whether it may be over soon
          def passing?(error) = error.is_a?(::RedisClient::ConnectionError) || PASSING.match?(error.message)

          # @return [Boolean] whether the command was certainly not run, and may succeed soon
          def untouched?(error) = error.is_a?(::RedisClient::CannotConnectError) || error.message.start_with?("LOADING ")

          # @param cause [Exception]
          # @return [Exception]
          def error(cause)
            return cause unless cause.is_a?(::RedisClient::Error)

            endpoint = cause.config&.server_url if cause.respond_to?(:config)
            ConnectionError.new("the Redis of Sidekiq can't be reached, or refuses (#{cause.message}): see REDIS_URL, or " \
                                "Sidekiq.configure_client", endpoint: endpoint)
          end
        end
      end

      # The data of a run in Redis: a key that exists as long as its results are wanted (a hash with the replaced copies of its
      # items), and a stream of messages about its items. Both expire soon after a kill of the caller. A message of a stream stays
      # until it has arrived; one popped from a list would be lost with its connection.
      class Channel
        # Seconds for which the run is wanted after the caller's last sign of life.
        LIFE = 60
        # Messages in one read at most.
        PAGE = 100
        # Bytes of read messages that may stay in Redis until the next sign of life; raising it uses more memory there.
        MUCH = 4 * 1024 * 1024
        # Seconds that an answer may take beyond the time of its wait.
        SLACK = 5
        LOST = "Redis has lost the results of this run: it was restarted without its data, or flushed, or has evicted them " \
               "(Sidekiq needs maxmemory-policy noeviction); or this process was stopped for more than #{2 * LIFE} s. Items " \
               "without a result may have been run".freeze
        private_constant :LOST

        # @return [String] its name for workers
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

        # @!group The caller's methods

        def open
          want
          pipeline do |redis|
            redis.call("XADD", @stream, "*", "news", "[]")
            redis.call("EXPIRE", @stream, 2 * LIFE)
          end
        end

        # Sends a sign of life, unless the run is over, and deletes read messages. A Redis with full memory allows these commands,
        # but not in a transaction.
        # @raise [ConnectionError] Redis has lost the messages
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

        # A copy of an item in a queue must not run any more.
        # @param copy [String] see {#wanted?}
        def replace(copy) = @redis.with { |redis| redis.call("HSET", @key, copy, "replaced") }

        # @return [Boolean] whether read messages take much memory in Redis
        def heavy? = @read > MUCH

        # @param seconds [Float] to wait for a message
        # @return [Array<Array>] see {#report}
        def listen(seconds)
          milliseconds = [(seconds * 1000).ceil, 1].max
          command = ["XREAD", "COUNT", PAGE, "BLOCK", milliseconds, "STREAMS", @stream, @last]
          reply = @redis.with { |redis| redis.blocking_call(seconds + SLACK, *command) } or return []
          entries_of(reply).map do |id, (_, message)|
            @last = id
            @read += message.bytesize
            JSON.parse(message)
          end
        end

        # Ends a wait in {#listen}.
        def knock = report([])

        # Ends the run: its results are not wanted any more.
        def revoke
          @revoked = true
          @redis.with { |redis| redis.call("DEL", @key) }
        end

        def close = @redis.with { |redis| redis.call("DEL", @key, @stream) }

        # @!group The worker's methods

        # @param copy [String, nil] of an item, as {Run} names it
        # @return [Boolean] whether the run is wanted, and no other copy has replaced this one
        def wanted?(copy = nil)
          wanted, replaced = @redis.with { |redis| redis.call("HMGET", @key, "wanted", *copy) }
          !wanted.nil? && replaced.nil?
        end

        # Sends a message, unless the run is over.
        # @param message [Array] of plain values
        def report(message)
          @redis.with { |redis| redis.call("XADD", @stream, "NOMKSTREAM", "*", "news", JSON.generate(message)) }
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

      # Reads the messages of a run, in a thread of its own: its caller waits at a queue, where Ctrl-C, timeouts and event loops
      # reach it. The thread also sends the signs of life.
      class Listener
        # Seconds between two ticks, at which the caller searches for lost items.
        TICK = 1.0
        # Seconds between two signs of life.
        BEAT = 10
        # Seconds for which Redis may be unreachable.
        OUTAGE = 30

        # @param deadline [Deadline, nil] there is a tick at this moment, with or without Redis
        # @return [Listener] a running one
        def initialize(channel, deadline)
          @channel = channel
          @messages = Thread::Queue.new
          @beaten = @heard = Deadline.now
          @alarm = start { ring(deadline) } if deadline
          @thread = start { carry }
        end

        # @return [Array, :tick, StandardError, nil] the next message, after a wait; nil: the thread has ended
        def take = @messages.pop

        def any? = !@messages.empty?

        # @param seconds [Float, nil] to wait for a silent Redis; then the thread ends by itself
        def stop(seconds = nil)
          @over = true
          @alarm&.kill&.join
          knock(seconds)
          @thread.join(seconds)
        end

        private

        # A thread inherits its creator's mask, with which a kill would wait for the end of the alarm.
        def start(&) = Thread.new { Thread.handle_interrupt(Object => :immediate, &) }

        def knock(seconds)
          seconds ? TimeLimit.enforce(seconds) { @channel.knock } : @channel.knock
        rescue StandardError
          nil # Redis is unreachable: the thread finds `@over`
        end

        # Ticks at the deadline, also while Redis is silent.
        def ring(deadline)
          sleep(deadline.remaining)
          @messages << :tick
        rescue ClosedQueueError
          nil
        end

        def carry
          listen until @over
        rescue StandardError => e
          @messages << e
        ensure
          @messages.close
        end

        def listen
          @channel.listen(TICK).each { |message| @messages << message }
          @heard = Deadline.now
          beat if @heard > @beaten + BEAT || @channel.heavy?
          @messages << :tick if @messages.empty? # with messages the caller looks anyhow
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
