# frozen_string_literal: true

require "net/http"
require "socket"
require "zlib"
require "test_helper"
require "plait/http/net_http"

Plait::HTTP::NetHTTP.disable # it is each test that enables it

# On a busy machine 2 s pass between two requests: then Net::HTTP renews its connection, and the tests count connections.
module LongKeepAlive
  def initialize(...)
    super
    @keep_alive_timeout = 60
  end
end
Net::HTTP.prepend(LongKeepAlive)

# An HTTP/1.1 server of this process that a test can tell how to misbehave. It counts connections, and each answer names
# the request it is for.
class NetHTTPOrigin
  Request = Struct.new(:verb, :path, :headers, :body, keyword_init: true)

  attr_reader :port, :requests

  # @param routes [Hash{String => #call(io, request)}] by path; a truthy value keeps the connection
  def initialize(routes = {})
    @routes = routes
    @server = TCPServer.new("127.0.0.1", 0)
    @port = @server.addr[1]
    @lock = Mutex.new
    @accepted = []
    @threads = []
    @requests = []
    @acceptor = Thread.new { accept }
  end

  def url(path = "/") = URI("http://127.0.0.1:#{port}#{path}")

  def connections = @lock.synchronize { @accepted.size }

  # Connections that the client has not closed yet.
  def open_connections = @lock.synchronize { @threads.count(&:alive?) }

  # Closes all connections from this side.
  def hang_up = @lock.synchronize { @accepted.each { |io| io.shutdown rescue nil } } # rubocop:disable Style/RescueModifier

  def close
    @server.close
    @acceptor.kill.join
    @threads.each { |thread| thread.kill.join }
    @accepted.each(&:close)
  end

  private

  def accept
    loop do
      io = @server.accept
      io.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1)
      @lock.synchronize do
        @accepted << io
        @threads << Thread.new { serve(io) }
      end
    end
  rescue IOError
    nil
  end

  def serve(io)
    while (request = read(io))
      @lock.synchronize { @requests << request }
      break unless answer(io, request)
    end
  rescue SystemCallError, IOError
    nil
  ensure
    close_quietly(io)
  end

  def close_quietly(io)
    io.close
  rescue IOError, Errno::EBADF # JRuby, where two threads close it at once
    nil
  end

  def answer(io, request)
    route = @routes[request.path[/\A[^?]*/]]
    route ? route.call(io, request) : echo(io, request)
  end

  def echo(io, request)
    body = "#{request.verb} #{request.path} #{request.body}"
    body = "" if request.verb == "HEAD"
    io.write("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: #{body.bytesize}\r\n\r\n#{body}")
  end

  def read(io)
    line = io.gets or return
    verb, path, = line.split
    headers = {}
    while (field = io.gets&.chomp) && !field.empty?
      name, value = field.split(":", 2)
      headers[name.downcase] = value.strip
    end
    Request.new(verb: verb, path: path, headers: headers, body: read_body(io, headers))
  end

  def read_body(io, headers)
    return chunks(io) if headers["transfer-encoding"]

    io.read(headers["content-length"].to_i)
  end

  def chunks(io)
    body = +""
    while (size = (io.gets || raise(EOFError)).hex).positive?
      body << io.read(size)
      io.gets
    end
    io.gets
    body
  end
end

# What the tests of Net::HTTP's mend share.
module NetHTTPCases
  NetHTTP = Plait::HTTP::NetHTTP

  # @return [Boolean] whether a gem that a test uses is there
  def self.found?(feature)
    require feature
    true
  rescue LoadError
    false
  end

  def setup
    super
    NetHTTP.enable
    NetHTTP.clear
    @settings = NetHTTP.configure.to_h
    @before = NetHTTP.statistics
  end

  def teardown
    NetHTTP.configure(**@settings)
    NetHTTP.disable
    left = NetHTTP.statistics
    super
    assert_equal([0, 0], [left.idle, left.waiting], "left in the pool")
  end

  def need(feature) = NetHTTPCases.found?(feature) || skip("#{feature} is not installed: bin/setup drivers peers")

  # What has happened since the test began.
  def counted(name) = NetHTTP.statistics[name] - @before[name]

  def origin(routes = {})
    origin = NetHTTPOrigin.new(routes)
    yield origin
  ensure
    origin&.close
  end

  # @return [Net::HTTP] that does not look for a proxy
  def http_to(origin, **options)
    http = Net::HTTP.new("127.0.0.1", origin.port, nil)
    options.each { |name, value| http.public_send(:"#{name}=", value) }
    http
  end

  # An answer with this body, announced as it is or otherwise.
  def self.answer(body, length: body.bytesize, status: "200 OK", fields: [])
    ["HTTP/1.1 #{status}", "Content-Length: #{length}", *fields, "", body].join("\r\n")
  end

  def answer(...) = NetHTTPCases.answer(...)
end
