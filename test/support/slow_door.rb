# frozen_string_literal: true

require "rbconfig"
require_relative "root"
require_relative "server"

module Support
  # Stands before a server and lets each connection in after a while: a greeting that is late.
  class SlowDoor < Server
    # @param to [Integer] the server's port
    # @param seconds [Numeric]
    def initialize(to:, seconds:, **options)
      super(**options)
      @to = to
      @seconds = seconds
    end

    PROGRAM = <<~RUBY
      require "socket"
      port, to, seconds = Integer(ARGV[0]), Integer(ARGV[1]), Float(ARGV[2])
      pass = ->(from, into) { IO.copy_stream(from, into) rescue nil; into.close_write rescue nil }
      door = TCPServer.new("127.0.0.1", port)
      door.listen(100)
      loop do
        Thread.new(door.accept) do |outer|
          sleep(seconds)
          inner = TCPSocket.new("127.0.0.1", to)
          [outer, inner].each { |socket| socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1) }
          back = Thread.new { pass.call(inner, outer) }
          pass.call(outer, inner)
          back.join
          [outer, inner].each(&:close)
        end
      end
    RUBY
    private_constant :PROGRAM

    private

    def command = [RbConfig.ruby, "-e", PROGRAM, port.to_s, @to.to_s, @seconds.to_s]

    def ready? = listening?
  end
end
