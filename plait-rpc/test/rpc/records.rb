# frozen_string_literal: true

# Puts bytes into TLS records of which a reader, at its largest steps, leaves the last one in libssl. They are sent under the GVL
# of Ruby, so a reader in this process finds all of them at once.
module Records
  FIRST = 100
  FULL = 16 * 1024

  module_function

  # @param ssl [OpenSSL::SSL::SSLSocket]
  # @param count [Integer] of full records, which follow a small one
  # @yieldparam payload [String]
  # @yieldreturn [Array] a message
  # @return [String] the payload of the message that fills them
  def send(ssl, count)
    ssl.to_io.setsockopt(:SOCKET, :SNDBUF, 4 << 20)
    size = FIRST + (count * FULL)
    payload = "x".b * size
    payload = payload.byteslice(0, payload.bytesize - 1) while (message = yield(payload).to_msgpack).bytesize > size
    rest = message.byteslice(FIRST..)
    records = Array.new(count) { |index| rest.byteslice(index * FULL, FULL) }.unshift(message.byteslice(0, FIRST))
    records.each { |record| ssl.write_nonblock(record) == record.bytesize or raise "the socket's buffer is too small" }
    payload
  end
end
