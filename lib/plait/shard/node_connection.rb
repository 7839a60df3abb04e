# frozen_string_literal: true

require "io/wait"
require "socket"
require_relative "../protocols/resp"
require_relative "../values/errors"

module Plait
  module Shard
    # A conversation with one node, for what the control plane has to do there.
    # @api private
    class NodeConnection
      CHUNK = 1 << 18
      # A node that says nothing for so many seconds is given up: a DUMP of the largest value takes a part of that.
      PATIENCE = 30

      # @param node [Node]
      # @param options [Hash{Symbol => Object}] of {Settings}
      # @raise [ConnectError, RemoteError]
      def initialize(node, options)
        @node = node
        @socket = Socket.tcp(node.host, node.port, connect_timeout: options[:connect_timeout])
        @socket.setsockopt(:TCP, :NODELAY, 1)
        @scanner = Protocols::RESP::ReplyScanner.new
        call("AUTH", *options[:node_user], options[:node_password]) if options[:node_password]
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
        write(commands.map { |words| encode(words) }.join)
        commands.map { |words| right(read, words) }
      end

      # @param words [Array<String>]
      # @return [void]
      def send_only(*words) = write(encode(words))

      # @param patience [Numeric] seconds
      # @return [Object] the next reply or message, decoded
      # @raise [ConnectionClosed, ReadTimeout]
      def read(patience = PATIENCE)
        until @scanner.next_event
          raise ReadTimeout, "the node #{@node} has sent nothing for #{patience} s" unless @socket.wait_readable(patience)

          @scanner.feed(@socket.readpartial(CHUNK))
        end
        Protocols::RESP::Decoder.decode(@scanner.bytes)
      rescue SystemCallError, IOError => e
        raise closed(e)
      end

      # @return [void]
      def close = @socket.close

      private

      # Writes while it reads: neither side waits for the other.
      def write(bytes)
        until bytes.empty?
          written = @socket.write_nonblock(bytes, exception: false)
          next bytes = bytes.byteslice(written..) unless written == :wait_writable

          readable, = IO.select([@socket], [@socket], nil, PATIENCE)
          raise ReadTimeout, "the node #{@node} has taken nothing for #{PATIENCE} s" unless readable

          @scanner.feed(@socket.readpartial(CHUNK)) if readable.any?
        end
      rescue SystemCallError, IOError => e
        raise closed(e)
      end

      def encode(words)
        words.inject("*#{words.size}\r\n".b) { |all, word| all << "$#{word.to_s.bytesize}\r\n".b << word.to_s.b << "\r\n".b }
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
