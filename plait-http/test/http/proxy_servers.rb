# frozen_string_literal: true

require "socket"

# Proxies as small as they can be, that work and that misbehave. Each is something to call with an accepted socket.
module ProxyServers
  # What a peer does that is none: the same for every protocol.
  MISBEHAVIOUR = {
    "closes at once" => ->(_) {},
    "resets" => ->(socket) { socket.setsockopt(Socket::SOL_SOCKET, Socket::SO_LINGER, [1, 0].pack("ii")) },
    "stalls" => lambda(&:read),
    "answers garbage" => ->(socket) { socket.write("\x00\xffgarbage\r\n\r\n" * 10) && socket.read },
    "answers for ever" => ->(socket) { loop { socket.write("X-Endless: #{"x" * 1000}\r\n") } }
  }.freeze

  module_function

  # Copies both ways until one end closes.
  def splice(one, other)
    thread = Thread.new { copy(one, other) }
    copy(other, one)
    thread.join
  end

  def copy(from, to)
    IO.copy_stream(from, to)
  rescue IOError, SystemCallError
    nil
  ensure
    to.close_write rescue nil # rubocop:disable Style/RescueModifier
  end

  # An HTTP proxy for CONNECT.
  # @param requests [Queue] gets the heads
  # @param to [#call] the target ("host:port") => where it is really, as arguments of TCPSocket.new; nil: nowhere
  # @param answer [String, nil] instead of connecting
  # @param before [String] what is sent before the answer
  def connect(requests, to: nil, answer: nil, before: "")
    lambda do |socket|
      head = socket.gets("\r\n\r\n")
      requests << head
      socket.write(before)
      next socket.write(answer) && socket.close_write && socket.read if answer

      origin = TCPSocket.new(*to.call(head[/\ACONNECT (\S+)/, 1]))
      socket.write("HTTP/1.1 200 Connection established\r\nX-Proxy: 1\r\n\r\n")
      splice(socket, origin)
    ensure
      origin&.close
    end
  end

  # A SOCKS5 proxy.
  # @param requests [Queue] gets [address or name, port, credentials or nil]
  # @param to [#call, nil] address, port => arguments of TCPSocket.new
  # @param method [Integer] that it chooses
  # @param login [Integer] what it says to a user and a password
  # @param reply [#call] address => what it says to CONNECT
  # @param bound [String] the address it has connected from, with its kind
  # @param slowly [Boolean] byte by byte
  def socks5(requests, to: nil, method: 0, login: 0, reply: ->(_) { 0 }, bound: "\x01\x7f\0\0\1".b, slowly: false)
    lambda do |socket|
      say = ->(bytes) { slowly ? bytes.each_char { |byte| socket.write(byte) && sleep(0.001) } : socket.write(bytes) }
      offered = socket.read(take(socket, 2).getbyte(1)).bytes
      say.call([5, method].pack("CC"))
      credentials = read_login(socket).tap { say.call([1, login].pack("CC")) } if method == 2
      next socket.read unless offered.include?(method) && login.zero?

      address, port = read_address(socket)
      requests << [address, port, credentials]
      code = reply.call(address)
      say.call([5, code, 0].pack("C3") + bound + "\x12\x34")
      code.zero? && to ? splice(socket, origin = TCPSocket.new(*to.call(address, port))) : socket.read
    ensure
      origin&.close
    end
  end

  def read_login(socket)
    socket.read(1)
    Array.new(2) { socket.read(socket.read(1).ord) }
  end

  # A client may leave in the middle.
  def take(socket, size) = socket.read(size) || raise(EOFError)

  def read_address(socket)
    address =
      case take(socket, 4).getbyte(3)
      when 1 then IPAddr.new_ntoh(socket.read(4)).to_s
      when 3 then socket.read(socket.read(1).ord)
      when 4 then IPAddr.new_ntoh(socket.read(16)).to_s
      end
    [address, take(socket, 2).unpack1("n")]
  end
end
