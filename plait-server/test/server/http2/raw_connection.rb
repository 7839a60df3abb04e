# frozen_string_literal: true

require "support/raw_http2"

# A connection in the hands of the test.
class RawConnection
  include RawHTTP2

  def initialize(socket)
    @socket = socket
    @bytes = "".b
    @frames = []
  end

  def write(bytes)
    @socket.write(bytes)
    self
  end

  # @param type [Integer, nil] of the frame that is waited for; others are passed over
  # @return [RawHTTP2::Frame, nil] nil at the end
  def next(type = nil)
    loop do
      frame = @frames.shift || (more ? next : (return nil))
      return frame if type.nil? || frame.type == type
    end
  end

  private

  def more
    ready? or raise Minitest::Assertion, "nothing came within 60 s"
    @bytes << @socket.readpartial(65_536)
    @frames.concat(frames(@bytes))
  rescue EOFError, Errno::ECONNRESET, OpenSSL::SSL::SSLError
    nil
  end

  # Of a TLS socket something may be decrypted already.
  def ready? = (@socket.respond_to?(:pending) && @socket.pending.positive?) || @socket.to_io.wait_readable(60)
end
