# frozen_string_literal: true

require "openssl"
require "socket"

# A server that says byte for byte what a test tells it to, and misbehaves as it is told: it dribbles, cuts, stalls and
# resets. Each connection runs the script on a thread of its own.
#
#     RawServer.open(->(peer) { peer.head && peer.say("HTTP/1.1 200 OK\r\n\r\n", by: 1) && peer.reset }) do |server|
#       socket = server.connect
#     end
class RawServer
  # The server's end of one connection.
  class Peer
    # Seconds after which a client that neither sends nor closes is given up: then the test has failed anyway.
    PATIENCE = 60

    # @return [Socket, OpenSSL::SSL::SSLSocket]
    attr_reader :socket

    def initialize(socket)
      @socket = socket
      @socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1) unless socket.is_a?(UNIXSocket)
      @input = "".b
    end

    # Goes on by TLS.
    # @param context [OpenSSL::SSL::SSLContext] of a server
    # @return [self]
    def secure(context)
      @socket = OpenSSL::SSL::SSLSocket.new(@socket, context)
      @socket.sync_close = true
      @socket.accept
      self
    end

    # @return [String, nil] the next head, with its last line break; nil when the client has closed
    def head
      more until (at = @input.index("\r\n\r\n")) || @ended
      at && @input.slice!(0, at + 4)
    end

    # @return [String] as many bytes of what follows, fewer when the client has closed
    def read(count)
      more until @input.bytesize >= count || @ended
      @input.slice!(0, count)
    end

    # @param by [Integer, nil] bytes at once; nil: all
    # @param pause [Float] seconds between two of them
    # @return [true]
    def say(bytes, by: nil, pause: 0)
      return @socket.write(bytes) && true unless by

      0.step(bytes.bytesize - 1, by) do |at|
        @socket.write(bytes.byteslice(at, by))
        pause.positive? ? sleep(pause) : Thread.pass
      end
      true
    end

    # Answers every request with the same bytes, until the client closes.
    def answer(bytes)
      say(bytes) while head
    end

    # Says and does nothing until the client closes.
    def stall
      more until @ended
    end

    # Sends no more, but still listens.
    def finish
      @socket.to_io.shutdown(Socket::SHUT_WR)
      true
    end

    # The client gets ECONNRESET.
    def reset
      @socket.to_io.setsockopt(Socket::Option.linger(true, 0))
      cut
    end

    def close = @socket.close

    # Without a goodbye, also by TLS.
    def cut = @socket.to_io.close

    private

    def more
      ready? or raise "the client neither sent nor closed for #{PATIENCE} s"
      @input << @socket.readpartial(65_536)
    rescue EOFError, Errno::ECONNRESET, OpenSSL::SSL::SSLError
      @ended = true
    end

    def ready? = (@socket.respond_to?(:pending) && @socket.pending.positive?) || @socket.to_io.wait_readable(PATIENCE)
  end

  # @param script [#call] given a {Peer} for each connection; what it raises is raised by {#stop}
  # @yieldparam server [RawServer]
  # @return [Object] what the block returns
  def self.open(script)
    server = new(script)
    value = yield(server)
    finished = true
    value
  ensure
    server&.stop(quietly: !finished)
  end

  # @return [Integer]
  attr_reader :port

  def initialize(script)
    @script = script
    @listener = TCPServer.new("127.0.0.1", 0)
    @port = @listener.addr[1]
    @threads = []
    @errors = Queue.new
    @acceptor = Thread.new { accept }
  end

  # @return [Socket] a client's end of a new connection
  def connect
    Socket.tcp("127.0.0.1", port).tap { |socket| socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1) }
  end

  # Ends what still runs.
  # @raise [Exception] what a script has raised
  def stop(quietly: false)
    @acceptor.kill.join
    @listener.close
    @threads.each { |thread| thread.kill.join }
    raise @errors.pop unless quietly || @errors.empty?
  end

  private

  def accept
    loop do
      peer = Peer.new(@listener.accept)
      @threads << Thread.new { serve(peer) }
    end
  end

  def serve(peer)
    @script.call(peer)
  rescue SystemCallError, IOError, OpenSSL::SSL::SSLError
    nil # the client has left
  rescue StandardError => e
    @errors << e
  ensure
    peer.close unless peer.socket.to_io.closed?
  end
end
