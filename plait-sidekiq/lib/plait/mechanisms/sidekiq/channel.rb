# frozen_string_literal: true

require "json"
require "securerandom"

module Plait
  module Mechanisms
    class Sidekiq < Mechanism
      # The Redis behind Sidekiq.
      module Redis
        # Seconds between two attempts while it is unreachable.
        PAUSE = 0.5
        # Its errors during a start, with full memory or a full disk, or during a failover.
        PASSING = /\A(LOADING|OOM|MISCONF|BUSY|TRYAGAIN|NOREPLICAS|READONLY|MASTERDOWN|CLUSTERDOWN) /

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

      # The data of a run in Redis: a key that exists as long as its results are wanted, a sorted set of the copies of items that
      # were sent, and a stream of messages about its items. All expire soon after a kill of the caller. A message of a stream
      # stays until it has arrived; one popped from a list would be lost with its connection.
      #
      # The score of a copy is 0, or the number of the process that has reserved it. To reserve is one command: it adds to the
      # score, if the copy is there. So a copy runs once at most, and the caller knows where.
      class Channel
        # Seconds for which the run is wanted after the caller's last sign of life.
        LIFE = 60
        # Messages in one read at most.
        PAGE = 100
        # Bytes of read messages that may stay in Redis until the next sign of life; raising it uses more memory there.
        MUCH = 4 * 1024 * 1024
        # Seconds that an answer may take beyond the time of its wait.
        SLACK = 5
        # The caller as a process that reserves a copy: no connection has this number.
        CALLER = 0.5
        # Always among the copies: Redis deletes an empty set, and with it the time at which it is to expire.
        NONE = "-"
        LOST = "Redis has lost the results of this run: it was restarted without its data, or flushed, or has evicted them " \
               "(Sidekiq needs maxmemory-policy noeviction); or this process was stopped for more than #{2 * LIFE} s. Items " \
               "without a result may have been run".freeze
        # A process's number is that of its connection, below a random part: a restarted Redis counts connections from 1 again.
        # Two numbers and a half have room in a Float.
        CONNECTIONS = 1 << 34
        PARTS = 1 << 17
        private_constant :CALLER, :NONE, :LOST, :CONNECTIONS, :PARTS

        class << self
          # @return [Integer] for a process, which adds the number of its connection
          def random_part = CONNECTIONS * SecureRandom.random_number(PARTS)

          # @param process [Integer]
          # @return [Integer] the number of its connection
          def connection(process) = process % CONNECTIONS
        end

        # @return [String] its name for workers
        attr_reader :id
        # @return [String] the key that exists as long as the run is wanted
        attr_reader :key

        # @param redis [#with] a pool of connections
        # @param id [String]
        def initialize(redis, id = SecureRandom.hex(12))
          @redis = redis
          @id = id
          @key = "plait:run:#{id}"
          @copies = "#{@key}:copies"
          @stream = "#{@key}:news"
          @last = "0"
          @read = 0
        end

        # @!group The caller's methods

        def open
          pipeline do |redis|
            want(redis)
            redis.call("XADD", @stream, "*", "news", "[]")
            redis.call("EXPIRE", @stream, 2 * LIFE)
          end
        end

        # Sends a sign of life, unless the run is over, and deletes read messages. A Redis with full memory allows these commands,
        # but not in a transaction.
        # @raise [ConnectionError] Redis has lost the messages
        def beat
          return if @revoked

          wanted, offered, kept, = pipeline do |redis|
            redis.call("EXPIRE", @key, LIFE)
            redis.call("EXPIRE", @copies, 2 * LIFE)
            redis.call("EXPIRE", @stream, 2 * LIFE)
            redis.call("XTRIM", @stream, "MINID", @last)
          end
          raise ConnectionError, LOST if kept.zero?

          @read = 0
          pipeline { |redis| want(redis) } if wanted.zero? || offered.zero?
        end

        # Lets processes reserve these copies. It is called before their jobs are sent.
        # @param copies [Array<String>] of items, as {Run} names them
        # @param settled [Array<String>] copies that have been answered
        def offer(copies, settled = [])
          pipeline do |redis|
            redis.call("ZREM", @copies, *settled) if settled.any?
            redis.call("ZADD", @copies, *copies.flat_map { |copy| [0, copy] })
          end
        end

        # @return [Array<Integer, nil>] of each copy the process that has reserved it; nil: none
        def owners(copies)
          scores = @redis.with { |redis| redis.call("ZMSCORE", @copies, *copies) }
          scores.map { |score| score.to_i if score.to_i.positive? }
        end

        # Takes a copy back, wherever its job is: no process runs it any more.
        # @param copy [String]
        # @return [Boolean] false: a process has reserved it before
        def withdraw(copy)
          score = add(copy, CALLER)
          return true if score.nil? || score == CALLER

          add(copy, -CALLER)
          score == 2 * CALLER # the client of Redis has sent it twice
        end

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

        # Ends the run: its results are not wanted any more, and no process reserves another copy.
        # @return [Array<String>] the copies that processes have reserved
        def revoke
          @revoked = true
          ended = "#{@copies}:ended"
          @redis.with { |redis| redis.call("RENAME", @copies, ended) }
          reserved, = pipeline do |redis|
            redis.call("ZRANGEBYSCORE", ended, 1, "+inf")
            redis.call("DEL", ended, @key)
          end
          reserved
        rescue ::RedisClient::CommandError => e
          raise unless e.message.include?("no such key")

          @redis.with { |redis| redis.call("DEL", @key) }
          []
        end

        def close = @redis.with { |redis| redis.call("DEL", @key, @copies, @stream) }

        # @!group The worker's methods

        # Reserves a copy, which its process then runs.
        # @param process [Integer] see {Presence}
        # @param former [Array<Integer>] numbers that the process had before its connection was cut
        # @return [Boolean] false: the run is over, or another process or the caller has reserved it
        def reserve(copy, process, former = [])
          score = add(copy, process) or return false
          return true if score == process

          add(copy, -process)
          owner = (score - process).to_i
          return owner == process unless former.include?(owner) # the client of Redis has sent it twice

          reserve_again([copy], process)
          true
        end

        # Reserves copies again for a process with a new connection.
        # @param copies [Array<String>] that the process runs
        def reserve_again(copies, process)
          @redis.with { |redis| redis.call("ZADD", @copies, "XX", *copies.flat_map { |copy| [process, copy] }) }
        end

        # Sends a message, unless the run is over.
        # @param message [Array] of plain values
        def report(message)
          @redis.with { |redis| redis.call("XADD", @stream, "NOMKSTREAM", "*", "news", JSON.generate(message)) }
        end

        private

        def want(redis)
          redis.call("SET", @key, "wanted", "EX", LIFE)
          redis.call("ZADD", @copies, 0, NONE)
          redis.call("EXPIRE", @copies, 2 * LIFE)
        end

        # @return [Float, nil] the score; nil: there is no such copy
        def add(copy, number) = @redis.with { |redis| redis.call("ZADD", @copies, "XX", "INCR", number, copy) }&.to_f

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
        # Seconds between two reads where messages come fast, for each item that may be under way, and at most; raising it saves
        # commands, and a message is read later.
        GATHER = 0.000_04
        LONGEST = 0.020
        private_constant :GATHER, :LONGEST

        # @param deadline [Deadline, nil] there is a tick at this moment, with or without Redis
        # @param limit [Integer] items under way at most
        # @return [Listener] a running one
        def initialize(channel, deadline, limit)
          @channel = channel
          @pause = [GATHER * limit, LONGEST].min
          @messages = Thread::Queue.new
          @beaten = @heard = @ticked = Deadline.now
          @alarm = start { ring(deadline) } if deadline
          @thread = start { carry }
        end

        # @return [Array<Array>, :tick, StandardError, nil] the next messages, after a wait; nil: the thread has ended
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
          messages = @channel.listen(TICK)
          @messages << messages if messages.any?
          @heard = Deadline.now
          beat if @heard > @beaten + BEAT || @channel.heavy?
          tick
          sleep(@pause) if messages.size > 1
        rescue ::RedisClient::Error => e
          raise if Deadline.now > @heard + OUTAGE || !Redis.passing?(e)

          sleep(Redis::PAUSE)
        end

        def beat
          @channel.beat
          @beaten = Deadline.now
        end

        # The caller searches for lost items also while it has many messages to take.
        def tick
          return if @heard < @ticked + TICK

          @ticked = @heard
          @messages << :tick
        end
      end
      private_constant :Redis, :Channel, :Listener
    end
  end
end
