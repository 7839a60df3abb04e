# frozen_string_literal: true

require "socket"
require "plait/values/errors"

module Plait
  module Shard
    # How the control plane gets to a node: where it is, encrypted or not, and as whom.
    # @api private
    class NodeAccess
      # @return [Numeric] seconds
      attr_reader :timeout
      # @return [Array<String>] for AUTH; empty: it is not asked for
      attr_reader :credentials

      # @param encryption [Encryption]
      # @param timeout [Numeric] seconds in which a node has to be reached
      # @param user [String, nil]
      # @param password [String, nil]
      def initialize(encryption, timeout:, user: nil, password: nil)
        @encryption = encryption
        @timeout = timeout
        @credentials = [*user, *password]
      end

      # @param password [String, nil]
      # @return [NodeAccess] to those who ask for another password
      def with(password:) = NodeAccess.new(@encryption, timeout: timeout, password: password)

      # @param node [Node]
      # @return [Socket, Io::TLS::Socket] connected
      # @raise [SystemCallError, SocketError, ConnectionError, TimeoutError]
      def connect(node) = @encryption.connect(node, timeout)

      # @param node [Node]
      # @return [String] for whom its certificate has to be
      def name_of(node) = @encryption.name_of(node)

      # Of several, such as those of localhost, the first at which the node is.
      # @param node [Node]
      # @return [Addrinfo]
      # @raise [ResolveError]
      def address(node)
        all = Addrinfo.getaddrinfo(node.host, node.port, nil, :STREAM)
        (all.find { |address| connects?(address) } if all.size > 1) || all.first
      rescue SocketError => e
        raise ResolveError.new("the node #{node} has no address: #{e.message}", endpoint: "tcp://#{node}")
      end

      private

      def connects?(address)
        address.connect(timeout: timeout) { true }
      rescue SystemCallError
        false
      end
    end
  end
end
