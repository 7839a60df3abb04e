# frozen_string_literal: true

require "ipaddr"

module Plait
  module Shard
    # An address, and the sockets there on which the threads of a {Proxy} listen.
    class Door
      BACKLOG = 1024
      SCHEME = "tls://"

      # A proxy that is its own node would ask itself without end.
      # @param nodes [Array<(String, String)>] for each: its packed address, and its name
      # @param descriptors [Array<Integer>] of listening sockets
      def self.refuse_itself(nodes, descriptors)
        own = Uninterruptible.run { descriptors.map { |one| Socket.for_fd(one).tap { |socket| socket.autoclose = false } } }
        _, label = nodes.find { |address, _| own.any? { |socket| leads_to?(socket.local_address, Addrinfo.new(address)) } }
        raise UsageError, "the node #{label} is the proxy itself: name servers, and another port to listen on" if label
      end

      def self.leads_to?(local, address)
        return false unless local.ip? && address.ip_port == local.ip_port

        any = IPAddr.new(local.ip_address.split("%").first).to_i.zero?
        [local, *(machine_addresses if any)].any? { |here| here.ip_address == address.ip_address }
      end

      # Ruby reads them over a socket (AF_NETLINK), which a service manager may forbid.
      def self.machine_addresses
        Socket.ip_address_list
      rescue SystemCallError
        []
      end

      attr_reader :host

      # @param text [String] "HOST:PORT", or "tls://HOST:PORT"
      # @param option [String] its name, for messages
      # @param inherited [Array<Socket>] listening sockets to use instead
      def initialize(text, option = "listen", inherited: [])
        @inherited = inherited
        @tls = text.to_s.start_with?(SCHEME)
        match = Node::FORM.match(text.to_s.delete_prefix(SCHEME).delete_prefix("tcp://"))
        raise UsageError, "#{option}: is HOST:PORT, not #{text.inspect}" if match.nil? || match[:weight] || match[:name]

        @host = match[:v6] || match[:host]
        @port = Integer(match[:port], 10)
        raise UsageError, "#{option}: is HOST:PORT with a port up to 65535, not #{text.inspect}" if @port > 65_535
      end

      # @return [Boolean] whether clients speak TLS
      def tls? = @tls

      # @return [String] "HOST:PORT"
      def to_s = @host.include?(":") ? "[#{@host}]:#{@port}" : "#{@host}:#{@port}"

      # @param count [Integer] threads; the kernel shares connections among their sockets
      # @return [Array<Socket>] at least that many; each needs a thread, or its connections would wait without end
      # @raise [ListenError]
      def open(count = 1)
        return take(count) if @inherited.any?

        # With SO_REUSEPORT another proxy could share the port: a plain bind first checks that it is free.
        listener(@port, shared: false).close if count > 1 && @port.positive?
        sockets = []
        count.times { sockets << listener(sockets.empty? ? @port : sockets.first.local_address.ip_port, shared: count > 1) }
        sockets
      rescue SystemCallError, SocketError => e
        sockets&.each(&:close)
        raise ListenError.new("can't listen on #{self}: #{e.message}", endpoint: "tcp://#{self}")
      end

      private

      # Threads share sockets where there are fewer sockets.
      def take(count)
        sockets = @inherited
        @inherited = []
        sockets + Array.new([count - sockets.size, 0].max) { |i| sockets[i % sockets.size].dup }
      end

      def listener(port, shared:)
        address = Addrinfo.tcp(@host, port)
        socket = Socket.new(address.afamily, :STREAM)
        socket.setsockopt(:SOCKET, :REUSEADDR, true)
        socket.setsockopt(:SOCKET, :REUSEPORT, true) if shared
        socket.bind(address)
        socket.listen(BACKLOG)
        socket
      rescue SystemCallError
        socket&.close
        raise
      end
    end
    private_constant :Door
  end
end
