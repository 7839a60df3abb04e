# frozen_string_literal: true

require_relative "dispatcher"
require_relative "../connection"
require_relative "../line"
require "plait/io/connector"
require "plait/values/deadline"
require "plait/values/errors"

module Plait
  module RPC
    class Client
      # Makes the connections of a client.
      class Dialer
        NEVER = { Object => :never }.freeze
        private_constant :NEVER

        # @param endpoint [Io::Endpoint]
        # @param options [Options]
        def initialize(endpoint, options)
          @endpoint = endpoint
          @options = options
        end

        # @param deadline [Deadline, nil]
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
          Thread.handle_interrupt(NEVER) do
            yield connection if block_given?
            done = true
          end
          connection
        ensure
          Thread.handle_interrupt(NEVER) { (connection || socket || phases)&.close unless done }
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
    end
  end
end
