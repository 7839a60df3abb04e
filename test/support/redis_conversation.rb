# frozen_string_literal: true

require "socket"
require "plait/protocols/resp"

module Support
  # A connection to a Redis, or to something that speaks as one: bytes are written as a test wants them, replies are read one by
  # one, as they came.
  class RedisConversation
    PATIENCE = 60

    class Silent < StandardError; end

    # @yieldparam conversation [RedisConversation] closed after the block, if there is one
    def self.open(port, host: "127.0.0.1")
      conversation = new(port, host)
      return conversation unless block_given?

      begin
        yield conversation
      ensure
        conversation.close
      end
    end

    def self.encode(*words)
      words.inject("*#{words.size}\r\n".b) { |all, word| all << "$#{word.to_s.bytesize}\r\n#{word}\r\n".b }
    end

    attr_reader :socket

    def initialize(port, host)
      @socket = TCPSocket.new(host, port)
      @socket.setsockopt(:TCP, :NODELAY, 1)
      @scanner = Plait.const_get(:Protocols)::RESP::ReplyScanner.new
    end

    # @return [String] the reply as it came
    def call(*words)
      write(RedisConversation.encode(*words))
      reply
    end

    # @return [Array<String>] the replies to commands sent at once
    def pipeline(commands)
      write(commands.map { |words| RedisConversation.encode(*words) }.join)
      commands.map { reply }
    end

    # Writes while it reads: neither side waits for the other.
    def write(bytes)
      until bytes.empty?
        written = @socket.write_nonblock(bytes, exception: false)
        written == :wait_writable ? await(write: true) : bytes = bytes.byteslice(written..)
      end
    end

    # @return [String, nil] nil: the connection has ended
    def reply
      until (event = @scanner.next_event)
        bytes = @socket.read_nonblock(1 << 16, exception: false)
        case bytes
        when :wait_readable then await(write: false)
        when nil then @scanner.finish
        else @scanner.feed(bytes)
        end
      end
      event == :reply ? @scanner.bytes : nil
    rescue Errno::ECONNRESET
      nil
    end

    def close = @socket.close

    private

    def await(write:)
      ready = IO.select([@socket], write ? [@socket] : [], nil, PATIENCE) or raise Silent, "no reply in #{PATIENCE} s"
      return unless write && ready[0].any?

      bytes = @socket.read_nonblock(1 << 16, exception: false)
      @scanner.feed(bytes) if bytes.is_a?(String)
    end
  end
end
