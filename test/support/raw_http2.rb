# frozen_string_literal: true

# Frames as a client sends them, right or wrong.
module RawHTTP2
  DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = *0..9
  END_STREAM = ACK = 1
  END_HEADERS = 4
  PADDED = 8
  PRIORITIZED = 32
  MAGIC = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".b
  ERRORS = %i[no_error protocol_error internal_error flow_control_error settings_timeout stream_closed frame_size_error
              refused_stream cancel compression_error connect_error enhance_your_calm].freeze
  GET = [[":method", "GET"], [":scheme", "https"], [":authority", "example.com"], [":path", "/"]].freeze
  POST = [[":method", "POST"], *GET.drop(1)].freeze

  Frame = Struct.new(:type, :flags, :id, :payload) do
    # @return [Symbol] of RST_STREAM and GOAWAY
    def error = ERRORS[payload.unpack1("N", offset: type == GOAWAY ? 4 : 0)]
  end

  module_function

  def frame(type, flags, id, payload = "".b, size: payload.bytesize)
    [size >> 16, size & 0xffff, type, flags, id].pack("CnCCN") << payload
  end

  def settings(*pairs) = frame(SETTINGS, 0, 0, pairs.flatten.pack("nN" * pairs.size))

  # @return [String]
  def hello(*settings) = MAGIC + RawHTTP2.settings(*settings)

  # A head, by a table of its own: literals only, so that it means the same at any time.
  # @return [String]
  def block(fields)
    fields.map { |name, value| "\0".b << [name.bytesize].pack("C") << name << [value.bytesize].pack("C") << value.b }.join
  end

  # @return [String]
  def request(id, fields = GET, last: true) = frame(HEADERS, END_HEADERS | (last ? END_STREAM : 0), id, block(fields))

  def data(id, bytes, last: false) = frame(DATA, last ? END_STREAM : 0, id, bytes)

  def window(id, size) = frame(WINDOW_UPDATE, 0, id, [size].pack("N"))

  def reset(id, code = 8) = frame(RST_STREAM, 0, id, [code].pack("N"))

  def ping = frame(PING, 0, 0, "12345678")

  # @param bytes [String] whole frames are taken off its front
  # @return [Array<Frame>]
  def frames(bytes)
    found = []
    while bytes.bytesize >= 9
      high, low, type, flags, id = bytes.unpack("CnCCN")
      size = (high << 16) | low
      break if bytes.bytesize < 9 + size

      found << Frame.new(type, flags, id, bytes.slice!(0, 9 + size).byteslice(9..))
    end
    found
  end
end
