# frozen_string_literal: true

require "socket"
require "plait/io/endpoint"
require "plait/io/tls"
require_relative "native"
require "plait/values/deadline"
require "plait/values/errors"

module Plait
  module Shard
    # TLS of a {Proxy}: with its clients, where `listen:` begins with tls://, and with its nodes. The data plane speaks it by
    # libssl; what the control plane asks of nodes goes over {Io::TLS}.
    # @api private
    class Encryption
      OPTIONS = { cert: nil, key: nil, client_ca: nil, node_tls: false, node_ca: nil, node_cert: nil, node_key: nil,
                  node_name: nil }.freeze
      FILES = %i[cert key client_ca node_ca node_cert node_key].freeze
      ADVICE = "TLS needs the extension built with OpenSSL: sudo apt-get install -y libssl-dev (dnf install openssl-devel), " \
               "then bin/setup, or gem pristine plait"
      private_constant :FILES

      # @param options [Hash{Symbol => Object}] those of OPTIONS
      # @raise [UsageError]
      # @raise [UnsupportedError] for nodes, where the extension has no TLS
      def initialize(**options)
        @options = OPTIONS.merge(options)
        FILES.each { |name| check_file(name, @options[name]) }
        check_pairs
        raise UsageError, "node_tls: is true or false, not #{node_tls.inspect}" unless [true, false].include?(node_tls)

        Encryption.check_support if node_tls
      end

      # @raise [UnsupportedError]
      def self.check_support
        raise UnsupportedError, ADVICE unless NativeShard::Plane::TLS
      end

      # @param encrypts [Boolean] whether clients speak TLS
      # @return [Array<String, nil>, nil] for the data plane
      # @raise [UsageError, UnsupportedError]
      def of_clients(encrypts)
        raise UsageError, "cert: is of use only with listen: tls://HOST:PORT" if @options[:cert] && !encrypts
        return unless encrypts

        Encryption.check_support
        @options[:cert] or raise UsageError, "listen: tls://… needs cert:, the file of a certificate, and key:, that of its key"
        @options.values_at(:cert, :key, :client_ca)
      end

      # @return [Array<String, nil>, nil] for the data plane
      def of_nodes = node_tls ? @options.values_at(:node_cert, :node_key, :node_ca) : nil

      # @param node [Node]
      # @return [String] for whom its certificate has to be
      def name_of(node) = @options[:node_name] || node.host

      # @param node [Node]
      # @param timeout [Numeric] seconds
      # @return [Socket, Io::TLS::Socket] connected
      # @raise [SystemCallError, SocketError, ConnectionError, TimeoutError]
      def connect(node, timeout)
        socket = Socket.tcp(node.host, node.port, connect_timeout: timeout)
        socket.setsockopt(:TCP, :NODELAY, 1)
        return socket unless node_tls

        client.handshake(socket, Io::Endpoint.tls(node.host, node.port), deadline: Deadline.after(timeout))
      end

      private

      def node_tls = @options[:node_tls]

      def client
        @client ||= Io::TLS::Client.new(ca_file: @options[:node_ca], hostname: @options[:node_name], **identity)
      end

      def identity
        return {} unless @options[:node_cert]

        { certificate: @options[:node_cert], key: @options[:node_key] || @options[:node_cert] }
      end

      def check_file(name, path)
        return if path.nil? || (path.is_a?(String) && File.readable?(path) && !path.include?("\0"))

        raise UsageError, "#{name}: is a file of PEM that can be read, not #{path.inspect}"
      end

      def check_pairs
        { key: :cert, client_ca: :cert, node_key: :node_cert }.each do |name, needed|
          raise UsageError, "#{name}: needs #{needed}: too" if @options[name] && !@options[needed]
        end
        odd = %i[node_ca node_cert node_name].find { |name| @options[name] && !node_tls }
        raise UsageError, "#{odd}: needs node_tls: true" if odd
      end
    end
  end
end
