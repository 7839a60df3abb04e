# frozen_string_literal: true

require "io/wait"

module ServerCases
  # A Thread::Queue for a process and its forks: a pipe, in which each value has as many bytes, so that none is torn apart.
  class SharedQueue
    SIZE = 64
    # fcntl(2); without it a pipe takes a thousand values.
    F_SETPIPE_SZ = 1031
    ROOM = 1 << 20

    def initialize
      @reader, @writer = IO.pipe(binmode: true)
      @writer.fcntl(F_SETPIPE_SZ, ROOM) if RUBY_PLATFORM.include?("linux")
    end

    def <<(value)
      @writer.write(Marshal.dump(value).ljust(SIZE, "\0"))
      self
    end

    # @return [Object, nil] nil: it was closed
    def pop
      @reader.wait_readable while (bytes = @reader.read_nonblock(SIZE, exception: false)) == :wait_readable
      Marshal.load(bytes) if bytes
    rescue IOError
      nil
    end

    def empty? = !@reader.wait_readable(0)

    def close = [@writer, @reader].each(&:close)
  end
end
