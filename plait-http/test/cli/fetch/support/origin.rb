# frozen_string_literal: true

require "openssl"
require "socket"

module Support
  # A server in the test's own process, that does what the test says and remembers what it was asked:
  #
  #     Origin.start { |path, nth| path == "/x" && nth == 1 ? [503, { "Retry-After" => "1" }, ""] : [200, {}, "hello"] }
  #
  # `nth` counts the requests for that path. A block that returns nil closes the connection without an answer.
  class Origin
    @all = []

    Request = Struct.new(:path, :headers, :at, :verb)

    # @param tls [Certificates::Pair, nil]
    def self.start(tls: nil, &answer)
      origin = new(tls, &answer)
      @all << origin
      origin
    end

    # Ends all that the current test has started.
    def self.stop_all = @all.slice!(0..).each(&:stop)

    # @return [Array<Request>] in the order in which they came
    attr_reader :requests
    # @return [Integer] requests that were answered at the same time, at most
    attr_reader :most

    def initialize(tls = nil, &answer)
      @answer = answer || ->(*) { [200, {}, "hello"] }
      @requests = []
      @counts = Hash.new(0)
      @running = @most = 0
      @lock = Mutex.new
      @server = TCPServer.new("127.0.0.1", 0)
      @port = @server.addr[1]
      @scheme = tls ? "https" : "http"
      @server = secure(tls) if tls
      @threads = [Thread.new { accept }]
    end

    def url(path = "", host: "127.0.0.1") = "#{@scheme}://#{host}:#{@port}#{path}"

    def paths = @lock.synchronize { @requests.map(&:path) }

    def stop
      @server.close
      @threads.each { |thread| thread.kill.join }
    end

    private

    def secure(pair)
      context = OpenSSL::SSL::SSLContext.new
      context.cert, context.key = pair.certificate, pair.key
      OpenSSL::SSL::SSLServer.new(@server, context).tap { |server| server.start_immediately = false }
    end

    def accept
      loop do
        socket = @server.accept
        thread = Thread.new { serve(socket) }
        thread.report_on_exception = false
        @threads << thread
      end
    rescue IOError, SystemCallError
      nil
    end

    def serve(socket)
      socket.accept if socket.respond_to?(:accept)
      while (path = read(socket))
        status, headers, body = run(path)
        return unless status

        head = { "Content-Length" => body.bytesize, **headers }.map { |pair| pair.join(": ") }
        socket.write("HTTP/1.1 #{status} Said\r\n#{head.join("\r\n")}\r\n\r\n", body)
      end
    rescue SystemCallError, IOError, OpenSSL::SSL::SSLError
      nil
    ensure
      socket.close
    end

    def read(socket)
      line = socket.gets or return
      headers = {}
      until (text = socket.gets.to_s.chomp).empty?
        name, value = text.split(": ", 2)
        headers[name.downcase] = value
      end
      verb, path = line.split
      socket.read(headers.fetch("content-length", 0).to_i)
      @lock.synchronize { @requests << Request.new(path, headers, Process.clock_gettime(Process::CLOCK_MONOTONIC), verb) }
      path
    end

    def run(path)
      nth = @lock.synchronize do
        @most = [@most, @running += 1].max
        @counts[path] += 1
      end
      @answer.call(path, nth)
    ensure
      @lock.synchronize { @running -= 1 }
    end
  end
end
