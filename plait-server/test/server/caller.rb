# frozen_string_literal: true

require "socket"

# A client in the hands of the test: raw bytes out, whole answers in.
class Caller
  Answer = Struct.new(:status, :fields, :body, :head)

  # @return [Socket]
  attr_reader :socket

  def initialize(socket)
    @socket = socket
    @bytes = +"".b
  end

  def send(bytes)
    @socket.write(bytes)
    self
  end

  # @return [Answer] to GET
  def get(path = "/", *fields)
    send("GET #{path} HTTP/1.1\r\nHost: example.com\r\n#{fields.map { |field| "#{field}\r\n" }.join}\r\n")
    hear
  end

  # @param to_head [Boolean] whether the request was a HEAD
  # @return [Answer]
  # @raise [EOFError] when the connection ends before it is whole
  def hear(to_head: false)
    more until (size = @bytes.index("\r\n\r\n"))
    head = @bytes.slice!(0, size + 4)
    status, fields = parse(head)
    Answer.new(status, fields, to_head || bodiless?(status) ? "" : body(fields), head)
  end

  # @return [String] all that comes until the connection ends
  def rest
    loop { more }
  rescue EOFError, Errno::ECONNRESET
    @bytes
  end

  # @return [String] what comes next, of whatever length, at least so many bytes
  def raw(size = 1)
    more while @bytes.bytesize < size
    @bytes.slice!(0..)
  end

  def close = @socket.close

  # @return [Boolean] whether the peer has ended it
  def closed_by_peer?
    @socket.wait_readable(0) && @socket.recv(1, Socket::MSG_PEEK).to_s.empty?
  rescue SystemCallError
    true
  end

  private

  def more
    ready? or raise Minitest::Assertion, "nothing came within 60 s; so far: #{@bytes.inspect}"
    @bytes << @socket.readpartial(1 << 16)
  end

  # Of a TLS socket something may be decrypted already.
  def ready? = (@socket.respond_to?(:pending) && @socket.pending.positive?) || @socket.to_io.wait_readable(60)

  def parse(head)
    first, *lines = head.split("\r\n")
    [Integer(first[%r{\AHTTP/1\.1 (\d{3}) }, 1]), lines.to_h { |line| line.split(": ", 2) }]
  end

  def bodiless?(status) = status < 200 || [204, 304].include?(status)

  def body(fields)
    return exactly(Integer(fields["content-length"])) if fields["content-length"]
    return chunks if fields["transfer-encoding"] == "chunked"

    rest.slice!(0..)
  end

  def exactly(size)
    more while @bytes.bytesize < size
    @bytes.slice!(0, size)
  end

  def chunks
    whole = +"".b
    loop do
      size = Integer(line, 16)
      whole << exactly(size)
      raise Minitest::Assertion, "no CRLF behind a chunk" unless exactly(2) == "\r\n"
      return whole if size.zero?
    end
  end

  def line
    more until (size = @bytes.index("\r\n"))
    @bytes.slice!(0, size + 2).chomp
  end
end
