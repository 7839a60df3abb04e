# frozen_string_literal: true

require_relative "dispatcher"
require_relative "../connection"
require_relative "../handler"
require "plait/io/connector"

module Plait
  module RPC
    class Client
      # The options of a client, checked.
      class Options
        # Times in seconds.
        DEFAULTS = { timeout: 30, connect_timeout: 10, reconnect: 5, tls: {}, connector: {}, limits: {}, outbox: Connection::OUTBOX,
                     raw: false, symbolize_keys: false, codec: nil, handler: nil, dispatcher: nil, order: :any,
                     secret: nil }.freeze
        ORDERS = %i[any lifo].freeze

        attr_reader :timeout, :connect_timeout, :reconnect, :tls, :connector, :handler, :dispatcher, :secret
        # @return [Hash] options of Connection
        attr_reader :connection

        def initialize(given, &extensions)
          options = DEFAULTS.merge(UsageError.check_names(given, DEFAULTS.keys, "a client"))
          %i[timeout connect_timeout].each { |name| instance_variable_set(:"@#{name}", seconds(name, options[name], nil)) }
          @reconnect = seconds(:reconnect, options[:reconnect] || 0, 0)
          @tls, @connector, @dispatcher, @secret = options.values_at(:tls, :connector, :dispatcher, :secret)
          @handler = handler_from(options[:handler])
          @connection = connection_options(options, &extensions)
        end

        private

        def seconds(name, value, least)
          return value if value.nil? && least.nil?
          return value if value.is_a?(Numeric) && value.real? && value >= (least || 0)

          raise UsageError, "#{name}: takes seconds#{" or nil" if least.nil?}, not #{value.inspect}"
        end

        def handler_from(given)
          raise UsageError, "a client has a handler: or a dispatcher:, not both" if given && @dispatcher

          given.nil? || given.is_a?(Handler) ? given : Handler.new(given)
        end

        def connection_options(options, &extensions)
          order, limits = options[:order], Protocols::MessagePackRPC.limits(options[:limits])
          raise UsageError, "order: is one of #{ORDERS.join(", ")}, not #{order.inspect}" unless ORDERS.include?(order)

          { codec: options[:codec] || new_codec(options, limits, &extensions), limits: limits, outbox: options[:outbox],
            raw: options[:raw], lifo: order == :lifo }
        end

        def new_codec(options, limits, &extensions)
          Protocols::MessagePackRPC::Codec.new(raw: options[:raw], symbolize_keys: options[:symbolize_keys],
                                               largest: Connection.largest(limits), &extensions)
        end
      end

      # Makes the connections of a client.
      class Dialer
        def initialize(endpoint, options)
          @endpoint = endpoint
          @options = options
        end

        # @yieldparam connection [Connection] that the block has to close from now on; no interrupt comes before that
        # @return [Connection] that the server has accepted
        # @raise [RemoteError] it does not take the secret
        def connect(deadline)
          done = false
          phases = Io::Connector::Phases.new
          deadline = sooner(deadline, Deadline.after(@options.connect_timeout))
          socket = connector.connect(@endpoint, deadline: deadline, phases: phases)
          dispatcher = new_dispatcher
          connection = Connection.new(socket, endpoint: @endpoint, dispatcher: dispatcher, **@options.connection)
          introduce(connection, deadline)
          reside(connection) if dispatcher
          Uninterruptible.run do
            yield connection if block_given?
            done = true
          end
          connection
        ensure
          Uninterruptible.run { (connection || socket || phases)&.close unless done }
        end

        private

        def sooner(*deadlines) = deadlines.compact.min_by(&:at)

        def connector = @connector ||= Io::Connector.new(**@options.connector, tls: (tls if @endpoint.tls?))

        # OpenSSL takes longer to load than all the rest.
        def tls
          require "plait/io/tls"
          @options.tls.is_a?(Hash) ? Io::TLS::Client.new(**@options.tls) : @options.tls
        end

        def new_dispatcher = @options.handler ? Dispatcher.new(@options.handler) : @options.dispatcher

        def introduce(connection, deadline)
          connection.request("rpc.authenticate", [@options.secret], limit: deadline&.at) if @options.secret
        end

        # A thread reads the peer's requests.
        def reside(connection)
          Thread.new do
            connection.run
          rescue Error
            nil # it is over
          end.name = "plait: takes the calls of #{@endpoint}"
        end
      end

      # The connection of a client. The first call makes it, and so does a call after its end, or in a fork.
      #
      # One call waits for a server that is gone, with growing pauses, for all others; a server that never was there is not
      # waited for. Then each call tries once; after a failure others fail at once, for as long as the attempt has taken, a
      # second at most.
      class ReconnectingConnection
        # Seconds between two attempts: the first pause, and the longest.
        FIRST_PAUSE = 0.05
        LONGEST_PAUSE = 1.0

        # @param patience [Numeric] seconds to wait for a server that is gone
        # @yieldreturn [Connection] a new one; the block's own block takes it before an interrupt can come
        def initialize(endpoint, patience, &connect)
          @endpoint = endpoint
          @patience = patience
          @connect = connect
          reset
        end

        attr_reader :current

        # @param limit [Float, nil] monotonic seconds
        # @raise [ConnectionClosed] the client is closed
        def connection(limit)
          current = @current
          current&.usable? ? current : find(limit)
        end

        def closed? = @closed

        def close
          @closed = true
          @current&.close
        end

        private

        Attempt = Struct.new(:connection, :failure)
        private_constant :Attempt

        def reset
          @generation = Native.fork_generation
          @lock = Mutex.new
          @changed = ConditionVariable.new
          @attempt = @gone = @failure = nil
        end

        def find(limit)
          reset if @generation != Native.fork_generation
          mine = Attempt.new
          @lock.synchronize { find_or_begin(limit, mine) } || run(limit, mine)
        ensure
          finish(mine) if mine
        end

        # @param mine [Attempt] of the caller, if it connects
        # @return [Connection, nil] nil: it does
        def find_or_begin(limit, mine)
          await_attempt(limit) until @attempt.nil?
          raise closed_here if @closed
          return @current if @current&.usable?
          raise once_more(@failure) if @failure && Deadline.now < @rest_until

          @attempt = mine
          nil
        end

        # @raise [Error] it has failed
        def await_attempt(limit)
          raise too_late if limit && Deadline.now >= limit

          attempt = @attempt
          @changed.wait(@lock, limit && [limit - Deadline.now, 0].max)
          raise once_more(attempt.failure) if attempt.failure
        end

        # Connects, while other calls wait.
        def run(limit, mine)
          connect_patiently(limit) { |made| mine.connection = made }
          mine.connection
        rescue Error => e
          mine.failure = e unless limit && Deadline.now >= limit # another call may have more time, and tries itself
          raise
        end

        # Others wait for the attempt as soon as its mark is set: it ends in any case.
        def finish(mine)
          Uninterruptible.holding(@lock) { conclude(mine.connection, mine.failure) if @attempt.equal?(mine) }
        end

        def conclude(connection, failure)
          @attempt = nil
          note(failure, connection)
          @current&.close unless connection.nil?
          @current = connection if connection
          @known = true if connection
          connection.close if connection && @closed
          @changed.broadcast
        end

        def note(failure, connection)
          @gone = nil if connection
          @failure = failure if failure.nil? || failure.is_a?(ConnectionFailure)
          now = Deadline.now
          @rest_until = now + [now - @began, LONGEST_PAUSE].min if @failure
        end

        def connect_patiently(limit, &take)
          pause = FIRST_PAUSE
          begin
            @began = Deadline.now
            yield @connect.call(limit && Deadline.new(limit), &take)
          rescue ConnectError
            @gone ||= Deadline.now
            give_up = [limit, @gone + @patience].compact.min
            raise if @closed || !@known || Deadline.now + pause >= give_up

            sleep(pause * (0.5 + (rand / 2)))
            pause = [pause * 2, LONGEST_PAUSE].min
            retry
          end
        end

        # Each caller raises its own exception.
        def once_more(failure) = failure.exception(failure.message)

        def too_late
          what = "no connection to #{@endpoint} in time: another call is connecting to it"
          ConnectTimeout.new(what, endpoint: @endpoint, phase: :connect)
        end

        def closed_here = ConnectionClosed.new("the client of #{@endpoint} is closed", endpoint: @endpoint, retry_safe: true)
      end
      private_constant :Options, :Dialer, :ReconnectingConnection
    end
  end
end
