# frozen_string_literal: true

require "socket"
require_relative "../native"
require_relative "../values/errors"
require_relative "node"
require_relative "placement"

module Plait
  module Shard
    # A proxy before several Redis servers. What clients send is read, sent to the nodes and answered by native threads, which
    # never hold Ruby's lock; this starts and stops them and tells their figures.
    class Proxy
      # @return [Placement] which node a key belongs to
      attr_reader :placement
      # @return [Integer] native threads
      attr_reader :threads

      # Of the options that are not about the placement.
      DEFAULTS = {
        connect_timeout: 1.0, timeout: 10.0, retry: 0.5, client_bytes: 256 << 20, clients: 50_000
      }.freeze
      # Those about who may do what.
      ACCESS = { password: nil, node_user: nil, node_password: nil, users: false }.freeze
      # As many as the data plane has room for.
      SECRET_BYTES = 511
      BACKLOG = 1024
      private_constant :BACKLOG, :SECRET_BYTES

      # Starts one, and stops it after the block.
      # @yieldparam proxy [Proxy]
      # @return [Object] what the block returns
      # @raise (see #start)
      def self.open(...)
        proxy = new(...).start
        begin
          yield proxy
        ensure
          proxy.stop
        end
      end

      # @param nodes [Array<String, Node>] see {Node.parse}
      # @param listen [String] "HOST:PORT"; port 0 is any free one, see {#port}
      # @param threads [Integer]
      # @param placement [Symbol] of {Placement::RULES}
      # @param options [Hash]
      # @option options [Symbol] :hash
      # @option options [Symbol] :distribution
      # @option options [String, Symbol, nil] :tag these three as for {Placement}
      # @option options [Numeric] :connect_timeout seconds for a connection to a node
      # @option options [Numeric] :timeout seconds in which a node that was asked has to send something; 0: any time
      # @option options [Numeric] :retry seconds until a node that can't be reached is tried again
      # @option options [Integer] :client_bytes that a client may leave unread before it is cut
      # @option options [Integer] :clients at once, for each thread
      # @option options [String, nil] :password that clients have to give; nil: none
      # @option options [String, nil] :node_user as whom the proxy speaks to nodes; nil: their default user
      # @option options [String, nil] :node_password
      # @option options [Boolean] :users whether names and passwords of clients are for the nodes to judge: ACL users
      # @raise [UsageError]
      # @raise [UnsupportedError] without the extension, or on another system than Linux
      def initialize(nodes:, listen: "127.0.0.1:6380", threads: 1, placement: :redis_sharding, **options)
        check_support
        raise UsageError, "threads are from 1 to 256, not #{threads.inspect}" unless (1..256).cover?(threads)

        @listen = Node::FORM.match(listen.to_s) or raise UsageError, "listen: is HOST:PORT, not #{listen.inspect}"
        @threads = threads
        @placement = Placement.new(nodes, rule: placement, **options.slice(:hash, :distribution, :tag))
        @options = DEFAULTS.merge(ACCESS, options.except(:hash, :distribution, :tag))
        check_options
        @plane = NativeShard::Plane.new
      end

      # @return [self]
      # @raise [ListenError] nobody can connect there
      # @raise [ResolveError] a node's name has no address
      # @raise [UsageError] when it is running already
      def start
        raise UsageError, "the proxy is running" if running?

        sockets = listeners
        @plane.start(addresses, @placement.native, sockets.map(&:fileno), @options)
        @port = sockets.first.local_address.ip_port
        self
      ensure
        sockets&.each(&:close)
      end

      # Ends all connections. Does nothing when it isn't running.
      # @return [void]
      def stop = @plane.stop

      # @return [Boolean]
      def running? = @plane.running?

      # @return [Integer, nil] on which it listens, once it was started
      attr_reader :port

      # @return [String] on which it listens
      def host = @listen[:v6] || @listen[:host]

      # @return [Hash{Symbol => Integer}] clients (now), and since the start accepted, commands, errors (that the proxy itself has
      #   answered with), bytes_in, bytes_out (from and to clients), node_failures
      def figures = @plane.figures

      private

      def check_support
        raise UnsupportedError, "the shard proxy needs the C extension: #{Native::REASON}" unless Native.available?
        return if Plait.const_defined?(:NativeShard) && NativeShard.const_defined?(:Plane)

        raise UnsupportedError, "the shard proxy needs Linux, for its epoll(7)"
      end

      def check_options
        known = [*DEFAULTS.keys, *ACCESS.keys]
        odd = @options.keys - known
        raise UsageError, "no option #{odd.first}; there are hash, distribution, tag, #{known.join(", ")}" if odd.any?

        check_numbers
        check_access
      end

      def check_numbers
        @options.slice(*DEFAULTS.keys).each do |name, value|
          whole = DEFAULTS.fetch(name).is_a?(Integer)
          next if (whole ? value.is_a?(Integer) : value.is_a?(Numeric)) && value >= 0

          raise UsageError, "#{name}: is #{whole ? "a number" : "seconds"}, at least 0, not #{value.inspect}"
        end
      end

      # A secret is not shown.
      def check_access
        %i[password node_user node_password].each do |name|
          value = @options[name]
          fits = value.is_a?(String) && (1..SECRET_BYTES).cover?(value.bytesize) && !value.include?("\0")
          raise UsageError, "#{name}: is a text of 1 to #{SECRET_BYTES} bytes, or nil" unless value.nil? || fits
        end
        raise UsageError, "node_user: needs node_password: too" if @options[:node_user] && !@options[:node_password]
        return if [true, false].include?(@options[:users])

        raise UsageError, "users: is true or false, not #{@options[:users].inspect}"
      end

      # One for each thread: the kernel deals connections out to them.
      def listeners
        port = Integer(@listen[:port], 10)
        sockets = []
        @threads.times { sockets << listener(sockets.empty? ? port : sockets.first.local_address.ip_port) }
        sockets
      rescue SystemCallError, SocketError => e
        sockets&.each(&:close)
        raise ListenError.new("can't listen on #{@listen}: #{e.message}", endpoint: "tcp://#{@listen}")
      end

      def listener(port)
        address = Addrinfo.tcp(host, port)
        socket = Socket.new(address.afamily, :STREAM)
        socket.setsockopt(:SOCKET, :REUSEADDR, true)
        socket.setsockopt(:SOCKET, :REUSEPORT, true) if @threads > 1
        socket.bind(address)
        socket.listen(BACKLOG)
        socket
      rescue SystemCallError
        socket&.close
        raise
      end

      def addresses
        @placement.nodes.map do |node|
          [Addrinfo.tcp(node.host, node.port).to_sockaddr, node.to_s]
        rescue SocketError => e
          raise ResolveError.new("the node #{node} has no address: #{e.message}", endpoint: "tcp://#{node}")
        end
      end
    end
  end
end
