# frozen_string_literal: true

require "msgpack"
require "socket"

# The other end of a connection, in the hands of a test: says and hears whole messages.
class Talker
  attr_reader :socket

  def initialize(socket)
    @socket = socket
    @unpacker = MessagePack::Unpacker.new(allow_unknown_ext: true)
    @heard = []
  end

  # Closing the socket will reset the connection, and not end it.
  def reset_at_close = @socket.setsockopt(Socket::SOL_SOCKET, Socket::SO_LINGER, [1, 0].pack("ii"))

  def say(*message) = @socket.write(message.to_msgpack)

  def request(id, method, *arguments) = say(0, id, method, arguments)

  def answer(id, result) = say(1, id, nil, result)

  # @return [Array] the next message
  def hear
    @unpacker.feed_each(@socket.readpartial(64 * 1024)) { |message| @heard << message } while @heard.empty?
    @heard.shift
  end

  # @return [Boolean] whether something more comes within these seconds
  def hears?(seconds) = !@heard.empty? || !@socket.to_io.wait_readable(seconds).nil?

  # @return [Boolean] whether something more comes soon
  def heard? = hears?(0.2)

  # @return [Array<Array>]
  def hear_many(count) = Array.new(count) { hear }
end
