# frozen_string_literal: true

require "socket"
require_relative "../values/errors"
require_relative "node"

module Plait
  module Shard
    # Where clients come in: the sockets that the threads of a {Proxy} listen on.
    # @api private
    class Door
      BACKLOG = 1024

      # @return [String]
      attr_reader :host

      # @param text [String] "HOST:PORT"
      # @param what [String] the option, for messages
      # @raise [UsageError]
      def initialize(text, what = "listen")
        match = Node::FORM.match(text.to_s)
        raise UsageError, "#{what}: is HOST:PORT, not #{text.inspect}" if match.nil? || match[:weight] || match[:name]

        @host = match[:v6] || match[:host]
        @port = Integer(match[:port], 10)
        raise UsageError, "#{what}: is HOST:PORT with a port up to 65535, not #{text.inspect}" if @port > 65_535
      end

      # @return [String] "HOST:PORT"
      def to_s = @host.include?(":") ? "[#{@host}]:#{@port}" : "#{@host}:#{@port}"

      # @param count [Integer] of threads: the kernel deals connections out to them
      # @return [Array<Socket>]
      # @raise [ListenError]
      def open(count = 1)
        claim if count > 1 && @port.positive?
        sockets = []
        count.times { sockets << listener(sockets.empty? ? @port : sockets.first.local_address.ip_port, shared: count > 1) }
        sockets
      rescue SystemCallError, SocketError => e
        sockets&.each(&:close)
        raise ListenError.new("can't listen on #{self}: #{e.message}", endpoint: "tcp://#{self}")
      end

      private

      # Sockets of several threads share their port, with those of another proxy too: that nobody is there must be seen before.
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
  end
end
