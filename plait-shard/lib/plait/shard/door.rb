# frozen_string_literal: true

require "ipaddr"
require "socket"
require "plait/values/errors"
require_relative "node"

module Plait
  module Shard
    # Where clients come in: the sockets that the threads of a {Proxy} listen on.
    # @api private
    class Door
      BACKLOG = 1024
      SCHEME = "tls://"
      private_constant :SCHEME

      # A proxy that is its own node would ask itself without end.
      # @param nodes [Array<(String, String)>] of each its address, packed, and its name
      # @param descriptors [Array<Integer>] of sockets that listen
      # @return [void]
      # @raise [UsageError]
      def self.refuse_itself(nodes, descriptors)
        own = descriptors.map { |descriptor| Socket.for_fd(descriptor).tap { |socket| socket.autoclose = false }.local_address }
        _, label = nodes.find { |address, _| own.any? { |local| leads_to?(local, Addrinfo.new(address)) } }
        raise UsageError, "the node #{label} is the proxy itself: name servers, and another port to listen on" if label
      end

      def self.leads_to?(local, address)
        return false unless local.ip? && address.ip_port == local.ip_port

        any = IPAddr.new(local.ip_address.split("%").first).to_i.zero?
        [local, *(machine_addresses if any)].any? { |here| here.ip_address == address.ip_address }
      end

      # The kernel tells them over a socket (AF_NETLINK) that a service manager may have forbidden.
      def self.machine_addresses
        Socket.ip_address_list
      rescue SystemCallError
        []
      end
      private_class_method :leads_to?, :machine_addresses

      # @return [String]
      attr_reader :host

      # @param text [String] "HOST:PORT", or "tls://HOST:PORT"
      # @param what [String] the option, for messages
      # @param inherited [Array<Socket>] that listen already, and are taken instead
      # @raise [UsageError]
      def initialize(text, what = "listen", inherited: [])
        @inherited = inherited
        @tls = text.to_s.start_with?(SCHEME)
        match = Node::FORM.match(text.to_s.delete_prefix(SCHEME).delete_prefix("tcp://"))
        raise UsageError, "#{what}: is HOST:PORT, not #{text.inspect}" if match.nil? || match[:weight] || match[:name]

        @host = match[:v6] || match[:host]
        @port = Integer(match[:port], 10)
        raise UsageError, "#{what}: is HOST:PORT with a port up to 65535, not #{text.inspect}" if @port > 65_535
      end

      # @return [Boolean] whether clients speak TLS
      def tls? = @tls

      # @return [String] "HOST:PORT"
      def to_s = @host.include?(":") ? "[#{@host}]:#{@port}" : "#{@host}:#{@port}"

      # @param count [Integer] of threads: the kernel deals connections out to them
      # @return [Array<Socket>] so many, or more: connections to a socket without a thread would wait without end
      # @raise [ListenError]
      def open(count = 1)
        return take(count) if @inherited.any?

        claim if count > 1 && @port.positive?
        sockets = []
        count.times { sockets << listener(sockets.empty? ? @port : sockets.first.local_address.ip_port, shared: count > 1) }
        sockets
      rescue SystemCallError, SocketError => e
        sockets&.each(&:close)
        raise ListenError.new("can't listen on #{self}: #{e.message}", endpoint: "tcp://#{self}")
      end

      private

      # Where there are fewer than threads, some have one together.
      def take(count)
        sockets = @inherited
        @inherited = []
        sockets + Array.new([count - sockets.size, 0].max) { |i| sockets[i % sockets.size].dup }
      end

      # Sockets of several threads share their port, with another proxy's too: a plain bind first checks that it is free.
      def claim = listener(@port, shared: false).close

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
