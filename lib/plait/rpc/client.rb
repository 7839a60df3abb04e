# frozen_string_literal: true

require_relative "connection"
require_relative "future"
require_relative "../io"
require_relative "../protocols/messagepack_rpc"
require_relative "../values/deadline"
require_relative "../values/errors"

module Plait
  module RPC
    # Calls methods of a MessagePack-RPC server. One client is for any number of threads and fibers: their calls share a
    # connection, and each gets its own answer, in whatever order they come.
    class Client
      # @return [Io::Endpoint]
      attr_reader :endpoint

      class << self
        # @param url [String, Io::Endpoint] "tcp://host:port", "unix:///path", "tls://host:port"
        # @param options [Hash] see {#initialize}
        # @return [Client]
        # @raise [UsageError]
        def connect(url, **options) = new(Io::Endpoint.parse(url), **options)
      end

      # Connects with the first call.
      # @param host [String, Io::Endpoint]
      # @param port [Integer, nil]
      # @param timeout [Numeric, nil] seconds for a call, where it says nothing else
      # @raise [UsageError]
      def initialize(host, port = nil, timeout: 30)
        @endpoint = port ? Io::Endpoint.tcp(host, port) : Io::Endpoint.parse(host)
        @timeout = timeout
        @codec = Protocols::MessagePackRPC::Codec.new
        @connector = Io::Connector.new
        @lock = Mutex.new
      end

      # @param method [Symbol, String]
      # @return [Object] the result
      # @raise (see Future#value)
      def call(method, *arguments, timeout: @timeout) = connection.request(method, arguments, limit: limit(timeout))

      # @param method [Symbol, String]
      # @return [Future]
      def call_async(method, *arguments, timeout: @timeout) = connection.call(method, arguments, limit: limit(timeout))

      # @param method [Symbol, String]
      # @return [nil]
      def notify(method, *arguments, timeout: @timeout)
        connection.notify(method, arguments, limit: limit(timeout))
        nil
      end

      # @return [void]
      def close = @connection&.close

      private

      def limit(timeout) = timeout && (Deadline.now + timeout)

      def connection
        return @connection if @connection && !@connection.closed?

        @lock.synchronize do
          next @connection if @connection && !@connection.closed?

          @connection = Connection.new(@connector.connect(@endpoint), endpoint: @endpoint, codec: @codec)
        end
      end
    end
  end
end
