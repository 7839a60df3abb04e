# frozen_string_literal: true

require "socket"
require_relative "commands"
require_relative "wire"

module Support
  # A test double of MongoDB, which speaks enough of its protocol (OP_MSG) for the tests of the bridge. It keeps everything in
  # memory, and its speed says nothing about that of MongoDB. Each connection has a thread.
  #
  # A command whose `comment` is "sleep 0.1" is answered that many seconds later.
  class MongoStandIn
    # @return [Integer]
    attr_reader :port

    # @param host [String]
    # @param port [Integer] 0: one that is free
    def initialize(host: "127.0.0.1", port: 0)
      @listener = TCPServer.new(host, port)
      @port = @listener.addr[1]
      @commands = Commands.new
    end

    # Serves until its process ends.
    def run
      loop do
        Thread.new(@listener.accept) { |socket| serve(socket) }.report_on_exception = false
      end
    end

    private

    def serve(socket)
      socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1)
      wire = Wire.new(socket)
      while (request = wire.read)
        wire.answer(request, @commands.call(request.command))
      end
    rescue SystemCallError, IOError
      nil
    ensure
      socket.close
    end
  end
end
