# frozen_string_literal: true

require_relative "../protocols/resp"
require "plait/io/channel"
require "plait/io/endpoint"

module Plait
  module Shard
    # A connection of the control plane to one node.
    class NodeConnection
      CHUNK = 1 << 18
      # Seconds of a node's silence until an error; a DUMP of the largest value takes a part of that.
      PATIENCE = 30

      # Opens a connection for a block, and closes it afterwards.
      # @return [Object] the block's value
      def self.open(node, access, patience: PATIENCE)
        connection = new(node, access, patience: patience)
        yield connection
      ensure
        connection&.close
      end

      # @param patience [Numeric] seconds
      # @raise [ConnectionError, TimeoutError, RemoteError]
      def initialize(node, access, patience: PATIENCE)
        @node = node
        @patience = patience
        @socket = access.connect(node)
        @scanner = Protocols::RESP::ReplyScanner.new
        authenticate(access)
      rescue SystemCallError, SocketError => e
        raise ConnectError.new("the node #{node} can't be reached: #{e.message}", endpoint: "tcp://#{node}")
      end

      # @return [Object] the reply, decoded
      # @raise [RemoteError] it was an error
      # @raise [ConnectionClosed, ReadTimeout]
      def call(*words) = pipeline([words]).first

      # @return [Array] the replies
      def pipeline(commands)
        write(commands.map { |words| Protocols::RESP.encode(words) }.join)
        commands.map { |words| right(read, words) }
      end

      def send_only(*words) = write(Protocols::RESP.encode(words))

      # @param patience [Numeric] seconds
      # @return [Object] the next reply or message, decoded
      # @raise [ConnectionClosed, ReadTimeout]
      def read(patience = @patience)
        until @scanner.next_event
          next if receive

          raise ReadTimeout, "the node #{@node} has sent nothing for #{patience} s" unless @socket.to_io.wait_readable(patience)
        end
        Protocols::RESP.decode(@scanner.bytes)
      rescue *Io::Channel::BREAKS => e
        raise closed(e)
      end

      def close = @socket.close

      private

      # Nothing else closes the socket of a connection that the caller does not get.
      def authenticate(access)
        call("AUTH", *access.credentials) if access.credentials.any?
        entered = true
      ensure
        @socket.close unless entered
      end

      # Writes while it reads: neither side waits for the other.
      def write(bytes)
        until bytes.empty?
          written = @socket.write_nonblock(bytes, exception: false)
          next bytes = bytes.byteslice(written..) if written.is_a?(Integer)
          next if receive
          next if IO.select([@socket.to_io], [@socket.to_io], nil, @patience)

          raise ReadTimeout, "the node #{@node} has taken nothing for #{@patience} s"
        end
      rescue *Io::Channel::BREAKS => e
        raise closed(e)
      end

      # Reads the bytes that have arrived.
      # @return [Boolean] whether there were any
      def receive
        bytes = @socket.read_nonblock(CHUNK, exception: false)
        raise EOFError, "end of file reached" if bytes.nil?

        @scanner.feed(bytes) if bytes.is_a?(String)
        bytes.is_a?(String)
      end

      def right(reply, words)
        return reply unless reply.is_a?(Protocols::RESP::Failure)

        raise RemoteError.new(reply.message, method_name: words.first, endpoint: "tcp://#{@node}")
      end

      def closed(error)
        ConnectionClosed.new("the node #{@node} has ended the connection: #{error.message}", endpoint: "tcp://#{@node}")
      end
    end

    # The control plane's access to nodes: encryption, user and password.
    class NodeAccess
      # @return [Numeric] seconds
      attr_reader :timeout
      # @return [Array<String>] for AUTH; empty: no AUTH is sent
      attr_reader :credentials

      # @param timeout [Numeric] seconds in which a node has to be reached
      def initialize(encryption, timeout:, user: nil, password: nil)
        @encryption = encryption
        @timeout = timeout
        @credentials = [*user, *password]
      end

      # @return [NodeAccess] to nodes with another password
      def with(password:) = NodeAccess.new(@encryption, timeout: timeout, password: password)

      # @return [Socket, Io::TLS::Socket] connected
      # @raise [SystemCallError, SocketError, ConnectionError, TimeoutError]
      def connect(node) = @encryption.connect(node, timeout)

      # @return [String] the name in its certificate
      def name_of(node) = @encryption.name_of(node)

      # Of several addresses, as localhost has, the first that accepts a connection.
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

    # TLS of a {Proxy}: with its clients, where `listen:` begins with tls://, and with its nodes. The data plane uses libssl, the
    # control plane {Io::TLS}.
    class Encryption
      OPTIONS = { cert: nil, key: nil, client_ca: nil, node_tls: false, node_ca: nil, node_cert: nil, node_key: nil,
                  node_name: nil }.freeze
      FILES = %i[cert key client_ca node_ca node_cert node_key].freeze
      ADVICE = "TLS needs the extension built with OpenSSL: sudo apt-get install -y libssl-dev (dnf install openssl-devel), " \
               "then bin/setup, or gem pristine plait"

      # @param options [Hash{Symbol => Object}] of OPTIONS
      # @raise [UnsupportedError] nodes speak TLS, and the extension does not
      def initialize(**options)
        @options = OPTIONS.merge(options)
        FILES.each { |name| check_file(name, @options[name]) }
        check_pairs
        raise UsageError, "node_tls: is true or false, not #{node_tls.inspect}" unless [true, false].include?(node_tls)

        load_tls if node_tls
      end

      def self.check_support = (raise UnsupportedError, ADVICE unless NativeShard::Plane::TLS)

      # @param encrypts [Boolean] whether clients speak TLS
      # @return [Array<String, nil>, nil] for the data plane
      # @raise [UsageError, UnsupportedError]
      def of_clients(encrypts)
        raise UsageError, "cert: works only with listen: tls://HOST:PORT" if @options[:cert] && !encrypts
        return unless encrypts

        Encryption.check_support
        @options[:cert] or raise UsageError, "listen: tls://… needs cert:, the file of a certificate, and key:, that of its key"
        @options.values_at(:cert, :key, :client_ca)
      end

      # @return [Array<String, nil>, nil] for the data plane
      def of_nodes = node_tls ? @options.values_at(:node_cert, :node_key, :node_ca) : nil

      # @return [String] the name in its certificate
      def name_of(node) = @options[:node_name] || node.host

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

      def client = @client ||= Io::TLS::Client.new(ca_file: @options[:node_ca], hostname: @options[:node_name], **identity)

      # Before threads connect: Ruby warns where two of them require one file.
      def load_tls
        Encryption.check_support
        require "plait/io/tls"
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
    private_constant :NodeConnection, :NodeAccess, :Encryption
  end
end
