# frozen_string_literal: true

require "msgpack"
require "socket"

# A MessagePack-RPC server of a few lines, that shares nothing with ours: a thread for each connection. What becomes of a
# message says the block: it gets the message and a Peer.
class ToyServer
  # One connection of it, as seen from the server.
  class Peer
    attr_reader :socket

    def initialize(socket, factory)
      @socket = socket
      @factory = factory
      @unpacker = factory.unpacker(allow_unknown_ext: true)
      @lock = Mutex.new
    end

    # @yieldparam message [Array]
    def each(&block)
      loop { @unpacker.feed_each(@socket.readpartial(64 * 1024), &block) }
    rescue SystemCallError, IOError
      nil
    end

    def send(*message) = @lock.synchronize { @socket.write(@factory.dump(message)) }

    def answer(id, result) = send(1, id, nil, result)

    def refuse(id, error) = send(1, id, error, nil)
  end

  # Adds up the arguments of any request.
  ADD = lambda do |message, peer|
    kind, id, _method, arguments = message
    peer.answer(id, arguments.sum) if kind == 0
  end

  def self.open(script = ADD, **options)
    server = new(**options, &script)
    yield server
  ensure
    server&.close
  end

  # @param path [String, nil] of a UNIX socket; nil: TCP
  # @param factory [MessagePack::Factory, nil]
  # @param port [Integer] 0: a free one
  def initialize(path: nil, port: 0, factory: nil, &script)
    @path = path
    @script = script
    @factory = factory || MessagePack::Factory.new
    @server = path ? UNIXServer.new(path) : TCPServer.new("127.0.0.1", port)
    @peers = Queue.new
    @connections = 0
    @acceptor = Thread.new { accept }
  end

  # @return [Integer] ever
  attr_reader :connections

  def port = @server.addr[1]

  def url = @path ? "unix://#{@path}" : "tcp://127.0.0.1:#{port}"

  # @return [Peer] the next one that has connected
  def peer = @peers.pop

  # A connection wakes the acceptor, which closes its socket itself: JRuby raises the IOError of a close by another thread again
  # at the next wait.
  def close
    return if @closing

    @closing = true
    waker = wake
    @acceptor.join
  ensure
    waker&.close
  end

  private

  # A connection that came just before has woken it already: then this one may be reset.
  def wake
    @path ? UNIXSocket.new(@path) : TCPSocket.new("127.0.0.1", port)
  rescue SystemCallError, IOError
    nil
  end

  def accept
    threads = []
    sockets = []
    loop do
      socket = @server.accept
      break socket.close if @closing

      socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1) unless @path
      sockets << socket
      @connections += 1
      peer = Peer.new(socket, @factory)
      @peers << peer
      threads << Thread.new { serve(peer) }
    end
  rescue SystemCallError
    nil
  ensure
    @server.close
    sockets.each { |socket| socket.shutdown rescue nil } # rubocop:disable Style/RescueModifier
    threads.each(&:join)
  end

  def serve(peer)
    peer.each { |message| @script.call(message, peer) }
  rescue SystemCallError, IOError
    nil
  ensure
    peer.socket.close
  end
end
