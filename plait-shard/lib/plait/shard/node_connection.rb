# frozen_string_literal: true

require "io/wait"
require "openssl"
require "socket"
require_relative "../protocols/resp"
require "plait/values/errors"

module Plait
  module Shard
    # A conversation with one node, for what the control plane has to do there.
    # @api private
    class NodeConnection
      CHUNK = 1 << 18
      # A node that says nothing for so many seconds is given up: a DUMP of the largest value takes a part of that.
      PATIENCE = 30
      BREAKS = [SystemCallError, IOError, OpenSSL::SSL::SSLError].freeze
      private_constant :BREAKS

      # For a block, and closed behind it.
      # @yieldparam connection [NodeConnection]
      # @return [Object] the block's value
      # @raise (see #initialize)
      def self.open(node, access, patience: PATIENCE)
        connection = new(node, access, patience: patience)
        yield connection
      ensure
        connection&.close
      end

      # @param words [Array<String>]
      # @return [String] as it is sent
      def self.encode(words)
        words.inject("*#{words.size}\r\n".b) { |all, word| all << "$#{word.to_s.bytesize}\r\n".b << word.to_s.b << "\r\n".b }
      end

      # @param node [Node]
      # @param access [NodeAccess]
      # @param patience [Numeric] seconds
      # @raise [ConnectionError, TimeoutError, RemoteError]
      def initialize(node, access, patience: PATIENCE)
        @node = node
        @patience = patience
        @socket = access.connect(node)
        @scanner = Protocols::RESP::ReplyScanner.new
        call("AUTH", *access.credentials) if access.credentials.any?
      rescue SystemCallError, SocketError => e
        raise ConnectError.new("the node #{node} can't be reached: #{e.message}", endpoint: "tcp://#{node}")
      end

      # @return [Object] the reply, decoded
      # @raise [RemoteError] it was an error
      # @raise [ConnectionClosed, ReadTimeout]
      def call(*words) = pipeline([words]).first

      # @param commands [Array<Array<String>>]
      # @return [Array] the replies
      # @raise (see #call)
      def pipeline(commands)
        write(commands.map { |words| NodeConnection.encode(words) }.join)
        commands.map { |words| right(read, words) }
      end

      # @param words [Array<String>]
      # @return [void]
      def send_only(*words) = write(NodeConnection.encode(words))

      # @param patience [Numeric] seconds
      # @return [Object] the next reply or message, decoded
      # @raise [ConnectionClosed, ReadTimeout]
      def read(patience = @patience)
        until @scanner.next_event
          next if receive

          raise ReadTimeout, "the node #{@node} has sent nothing for #{patience} s" unless @socket.to_io.wait_readable(patience)
        end
        Protocols::RESP::Decoder.decode(@scanner.bytes)
      rescue *BREAKS => e
        raise closed(e)
      end

      # @return [void]
      def close = @socket.close

      private

      # Writes while it reads: neither side waits for the other.
      def write(bytes)
        until bytes.empty?
          written = @socket.write_nonblock(bytes, exception: false)
          next bytes = bytes.byteslice(written..) if written.is_a?(Integer)
          next if receive
          next if IO.select([@socket.to_io], [@socket.to_io], nil, @patience)

          raise ReadTimeout, "the node #{@node} has taken nothing for #{@patience} s"
        end
      rescue *BREAKS => e
        raise closed(e)
      end

      # What is here.
      # @return [Boolean] whether anything was
      def receive
        bytes = @socket.read_nonblock(CHUNK, exception: false)
        raise EOFError, "end of file reached" if bytes.nil?

        @scanner.feed(bytes) if bytes.is_a?(String)
        bytes.is_a?(String)
      end

      def right(reply, words)
        return reply unless reply.is_a?(Protocols::RESP::Decoder::Failure)

        raise RemoteError.new(reply.message, method_name: words.first, endpoint: "tcp://#{@node}")
      end

      def closed(error)
        ConnectionClosed.new("the node #{@node} has ended the connection: #{error.message}", endpoint: "tcp://#{@node}")
      end
    end
  end
end
