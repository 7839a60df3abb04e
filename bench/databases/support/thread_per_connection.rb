# frozen_string_literal: true

require "socket"

module Bench
  # The other historical row: a server from the time before worker pools, with a thread for each connection as long as it is
  # open. It knows as much of HTTP as a load generator speaks.
  class ThreadPerConnection
    ENDING = "\r\n\r\n"
    BACKLOG = 4096
    private_constant :ENDING, :BACKLOG

    # @param app [#call] a Rack app
    # @param port [Integer] 0: one that is free
    def initialize(app, port: 0)
      @app = app
      @listener = TCPServer.new("127.0.0.1", port)
      @listener.listen(BACKLOG)
    end

    # @return [Integer]
    def port = @listener.addr[1]

    # Serves until its process is ended.
    # @return [void]
    # @raise [ThreadError] when the system gives no thread
    def run = loop { Thread.new(@listener.accept) { |socket| serve(socket) } }

    private

    def serve(socket)
      while (head = socket.gets(ENDING))
        kept = kept?(head)
        socket.write(answer(head[/\A\S+ (\S+)/, 1], kept))
        break unless kept
      end
    rescue SystemCallError, IOError
      nil # the client is gone
    ensure
      socket.close
    end

    def kept?(head)
      said = head[/^connection: (\S+)/i, 1]&.downcase
      head.match?(%r{\A\S+ \S+ HTTP/1\.1}) ? said != "close" : said == "keep-alive"
    end

    def answer(target, kept)
      path, query = target.split("?", 2)
      status, _, body = @app.call({ "REQUEST_METHOD" => "GET", "PATH_INFO" => path, "QUERY_STRING" => query.to_s })
      "HTTP/1.1 #{status} #{status == 200 ? "OK" : "Error"}\r\ncontent-length: #{body.sum(&:bytesize)}\r\n" \
        "connection: #{kept ? "keep-alive" : "close"}#{ENDING}#{body.join}"
    end
  end
end
