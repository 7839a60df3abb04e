# frozen_string_literal: true

require "http/2"
require "monitor"

# The other end of an HTTP/2 connection, without TLS: a server of the gem http-2 that answers as a test says, and frames of
# the test's own where it is to misbehave.
class HTTP2Peer
  # What came of a request.
  Request = Struct.new(:stream, :fields, :body, :peer, keyword_init: true) do
    def path = fields[":path"]

    def id = stream.id

    # @param pieces [Array<String>] each a frame, or more
    def answer(*pieces, status: 200, last: true, **fields)
      peer.locked do
        stream.headers([[":status", status.to_s], *fields.map { |name, value| [name.to_s.tr("_", "-"), value.to_s] }],
                       end_stream: pieces.empty? && last)
        pieces.each_with_index { |piece, i| stream.data(piece, end_stream: last && i == pieces.size - 1) }
      end
    end
  end

  # @param settings [Hash] of the gem's server
  # @return [#call] for IoCases#serving
  def self.handler(on_body: nil, **settings, &on_request) = ->(socket) { new(socket, settings, on_body, on_request).run }

  # @return [String]
  def self.frame(type, flags, id, payload = "".b)
    [payload.bytesize >> 16, payload.bytesize & 0xffff, type, flags, id].pack("CnCCN") + payload
  end

  HEADERS, DATA, RST_STREAM, SETTINGS, GOAWAY = 1, 0, 3, 4, 7
  # Of HPACK's static table.
  STATUS_200 = "\x88".b

  attr_reader :socket

  def initialize(socket, settings, on_body, on_request)
    @socket = socket
    @lock = Monitor.new
    @server = ::HTTP2::Server.new(settings)
    @server.on(:frame) { |bytes| socket.write(bytes) }
    @server.on(:stream) { |stream| listen(stream, on_body, on_request) }
  end

  def run
    loop do
      bytes = @socket.readpartial(16_384)
      locked { @server << bytes }
    end
  end

  def locked(&block) = @lock.synchronize(&block)

  # Sends frames of the test's own.
  def raw(*frames) = locked { @socket.write(frames.join) }

  def go_away(last, error = 0, words = "")
    raw(HTTP2Peer.frame(GOAWAY, 0, 0, [last, error].pack("NN") + words))
  end

  def reset(id, error) = raw(HTTP2Peer.frame(RST_STREAM, 0, id, [error].pack("N")))

  private

  def listen(stream, on_body, on_request)
    request = Request.new(stream: stream, fields: {}, body: String.new, peer: self)
    stream.on(:headers) { |fields| request.fields = fields.to_h }
    stream.on(:data) { |bytes| on_body ? on_body.call(request, bytes) : request.body << bytes }
    stream.on(:half_close) { on_request.call(request) if stream.state == :half_closed_remote }
  end
end
