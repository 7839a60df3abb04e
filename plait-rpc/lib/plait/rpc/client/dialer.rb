# frozen_string_literal: true

require_relative "dispatcher"
require_relative "../connection"
require_relative "../handler"
require_relative "../../protocols/messagepack_rpc"
require "plait/io/connector"
require "plait/values/deadline"
require "plait/values/errors"
require "plait/values/uninterruptible"

module Plait
  module RPC
    class Client
      # What a client was told, checked.
      class Options
        # Where nothing else is said. Times in seconds.
        DEFAULTS = { timeout: 30, connect_timeout: 10, reconnect: 5, tls: {}, connector: {}, limits: {}, outbox: Connection::OUTBOX,
                     raw: false, symbolize_keys: false, codec: nil, handler: nil, dispatcher: nil, order: :any,
                     secret: nil }.freeze
        ORDERS = %i[any lifo].freeze
        private_constant :ORDERS

        # @return [Numeric, nil]
        attr_reader :timeout, :connect_timeout
        # @return [Numeric] 0: a call that finds no server fails at once
        attr_reader :reconnect
        # @return [Hash, Io::TLS::Client]
        attr_reader :tls
        # @return [Hash] of Io::Connector
        attr_reader :connector
        # @return [Protocols::MessagePackRPC::Codec]
        attr_reader :codec
        # @return [Handler, nil]
        attr_reader :handler
        attr_reader :dispatcher
        # @return [String, nil]
        attr_reader :secret

        # @yieldparam factory [MessagePack::Factory]
        # @raise [UsageError]
        def initialize(given, &extensions)
          unknown = given.keys - DEFAULTS.keys
          raise UsageError, "a client doesn't know #{unknown.join(", ")}; it takes #{DEFAULTS.keys.join(", ")}" if unknown.any?

          options = DEFAULTS.merge(given)
          %i[timeout connect_timeout].each { |name| instance_variable_set(:"@#{name}", seconds(name, options[name], nil)) }
          @reconnect = seconds(:reconnect, options[:reconnect] || 0, 0)
          @tls, @connector, @dispatcher, @secret = options.values_at(:tls, :connector, :dispatcher, :secret)
          @handler = handler_from(options[:handler])
          @limits = Protocols::MessagePackRPC.limits(options[:limits])
          @codec = codec_from(options, &extensions)
          @connection = connection_options(options)
        end

        # @return [Hash] of Connection
        def for_connection = @connection

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

        def codec_from(options, &extensions)
          return options[:codec] if options[:codec]

          Protocols::MessagePackRPC::Codec.new(raw: options[:raw], symbolize_keys: options[:symbolize_keys],
                                               largest: Connection.largest(@limits), &extensions)
        end

        def connection_options(options)
          order = options[:order]
          raise UsageError, "order: is one of #{ORDERS.join(", ")}, not #{order.inspect}" unless ORDERS.include?(order)

          { codec: @codec, limits: @limits, outbox: options[:outbox], raw: options[:raw],
            lifo: order == :lifo }
        end
      end

      # Makes the connections of a client.
      class Dialer
        def initialize(endpoint, options)
          @endpoint = endpoint
          @options = options
        end

        # @yieldparam connection [Connection] the block's from now on; no interrupt comes before that
        # @return [Connection] that the server has let in
        # @raise [ConnectError, ResolveError, TLSError, CertificateError, ConnectTimeout]
        # @raise [RemoteError] it does not take the secret
        def connect(deadline)
          done = false
          phases = Io::Connector::Phases.new
          deadline = sooner(deadline, Deadline.after(@options.connect_timeout))
          socket = connector.connect(@endpoint, deadline: deadline, phases: phases)
          dispatcher = new_dispatcher
          connection = Connection.new(socket, endpoint: @endpoint, dispatcher: dispatcher, **@options.for_connection)
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

        # Somebody has to be there when the peer calls.
        def reside(connection)
          Thread.new do
            connection.run
          rescue Error
            nil # it is over
          end.name = "plait: takes the calls of #{@endpoint}"
        end
      end
      private_constant :Options, :Dialer
    end
  end
end
