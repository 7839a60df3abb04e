# frozen_string_literal: true

require "openssl"
require "socket"
require "test_helper"
require "plait/http"

# An HTTP/1.1 server of this process, on the loopback, that does what a test tells it: a route for each path, which is given
# the socket and the request. It counts connections and keeps the requests.
class ScriptedOrigin
  # @!attribute connection
  #   @return [Integer] which connection it came on, from 1
  Request = Struct.new(:verb, :target, :fields, :body, :connection, keyword_init: true) do
    def path = target[/\A[^?]*/]

    def query = target[/\?(.*)\z/, 1].to_s

    # @return [String, nil]
    def [](name) = fields.assoc(name)&.last
  end

  # What OpenSSL says of a client that left without a goodbye: while the origin reads, or while it sends a session ticket.
  GONE = /unexpected eof|tls_retry_write_records/
  private_constant :GONE

  class << self
    # @return [String] a response with a body of that length
    def answer(body = "", status: "200 OK", fields: [], length: body.bytesize)
      ["HTTP/1.1 #{status}", "Content-Length: #{length}", *fields, "", body].join("\r\n")
    end

    # @return [Proc] a route that always says the same
    def always(...)
      text = answer(...)
      ->(io, _request) { io.write(text) }
    end

    # @return [Proc] a route that leads elsewhere
    def redirect(location, status: "302 Found", **options)
      always("over there", status: status, fields: ["Location: #{location}", *options[:fields]])
    end

    # @yieldparam origin [ScriptedOrigin]
    def open(routes = {}, **options)
      origin = new(routes, **options)
      yield origin
    ensure
      origin&.close
    end
  end

  attr_reader :port, :requests, :routes

  # @param routes [Hash{String => #call}] path => given (io, request); false from it closes the connection. Other paths are
  #   answered with the request itself.
  # @param tls [OpenSSL::SSL::SSLContext, nil]
  # @param path [String, nil] of a UNIX socket
  def initialize(routes = {}, host: "127.0.0.1", tls: nil, path: nil)
    @routes = routes
    @tls = tls
    @server = path ? UNIXServer.new(path) : TCPServer.new(host, 0)
    @port = path ? 80 : @server.addr[1]
    @lock = Mutex.new
    @accepted = []
    @threads = []
    @requests = []
    @acceptor = Thread.new { accept }
  end

  def url(path = "", host: "127.0.0.1") = "http#{"s" if @tls}://#{host}:#{port}#{path}"

  # @return [Integer] so far
  def connections = @lock.synchronize { @accepted.size }

  # @return [Integer] that the client has not closed
  def open_connections = @lock.synchronize { @threads.count(&:alive?) }

  # @return [Integer] requests for a path
  def count(path) = @lock.synchronize { @requests.count { |request| request.path == path } }

  # Closes all connections from this side, as a server does with idle ones.
  def hang_up
    @lock.synchronize { @accepted.each { |io| quietly { io.shutdown } } }
    @threads.each { |thread| thread.join(10) }
  end

  def close
    @server.close
    @acceptor.kill.join
    @threads.each { |thread| thread.kill.join }
    @accepted.each { |io| quietly { io.close } }
  end

  private

  def accept
    loop do
      io = @server.accept
      io.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1) unless io.is_a?(UNIXSocket)
      @lock.synchronize do
        @accepted << io
        number = @accepted.size
        @threads << Thread.new { serve(io, number) }
      end
    end
  rescue IOError, SystemCallError
    nil
  end

  def serve(raw, number)
    Thread.current.report_on_exception = false
    io = secure(raw)
    while (request = read(io, number))
      @lock.synchronize { @requests << request }
      break if answer(io, request) == false
    end
  rescue IOError, SystemCallError
    nil
  rescue OpenSSL::SSL::SSLError => e
    raise unless e.message.match?(GONE)
  ensure
    quietly { (io || raw).close }
  end

  def secure(raw)
    return raw unless @tls

    OpenSSL::SSL::SSLSocket.new(raw, @tls).tap do |socket|
      socket.sync_close = true
      socket.accept
    end
  rescue OpenSSL::SSL::SSLError => e
    raise IOError, e.message
  end

  def answer(io, request)
    route = @routes[request.path]
    route ? route.call(io, request) : io.write(echo(request))
  end

  def echo(request)
    text = request.verb == "HEAD" ? "" : "#{request.verb} #{request.target} #{request.body}"
    self.class.answer(text, fields: ["Content-Type: text/plain"])
  end

  def read(io, number)
    line = io.gets("\r\n") or return
    verb, target, = line.split
    fields = []
    while (field = io.gets("\r\n")&.chomp) && !field.empty?
      name, value = field.split(":", 2)
      fields << [name.downcase, value.strip]
    end
    Request.new(verb: verb, target: target, fields: fields, connection: number).tap { |r| r.body = read_body(io, r) }
  end

  def read_body(io, request)
    io.write("HTTP/1.1 100 Continue\r\n\r\n") if request["expect"]
    return chunks(io) if request["transfer-encoding"]

    io.read(request["content-length"].to_i)
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

  def quietly
    yield
  rescue IOError, SystemCallError
    nil
  end
end

# What the tests of the client share.
module ClientCases
  # The way that URLs go that nobody has to be asked about: these tests are about none of the machine's proxies.
  PROXY = { proxy: false }.freeze

  # @param given [Hash] paths => routes; names => options of the client
  # @yieldparam client [Plait::HTTP::Client]
  # @yieldparam origin [ScriptedOrigin]
  def with_origin(**given)
    routes, options = given.partition { |name, _| name.is_a?(String) }.map(&:to_h)
    ScriptedOrigin.open(routes) do |origin|
      Plait::HTTP::Client.open(**PROXY, **options) { |client| yield(client, origin) }
    end
  end

  def answer(...) = ScriptedOrigin.answer(...)

  def always(...) = ScriptedOrigin.always(...)

  def redirect(...) = ScriptedOrigin.redirect(...)

  # Nothing of a client is in use when its calls are over.
  def assert_idle(client)
    statistics = client.statistics
    assert_equal([0, 0], statistics.values_at(:busy, :waiting), "connections left in use: #{statistics}")
  end

  # Waits until the server at the port has closed our idle connections: the end of the input is something to read.
  def await_the_end(port)
    ours = ObjectSpace.each_object(Socket).select { |socket| connected_to?(socket, port) }
    refute_empty(ours)
    ours.each { |socket| assert(socket.wait_readable(10)) }
  end

  def connected_to?(socket, port)
    !socket.closed? && socket.remote_address.ip_port == port
  rescue SystemCallError, SocketError # not connected, or not by IP
    false
  end

  # Seconds the block takes.
  def stopwatch
    start = Plait::Deadline.now
    yield
    Plait::Deadline.now - start
  end
end
