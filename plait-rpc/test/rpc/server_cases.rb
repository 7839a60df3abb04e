# frozen_string_literal: true

require "plait/rpc"
require_relative "server_cases/bad_input"
require_relative "server_cases/batches"
require_relative "server_cases/bounds"
require_relative "server_cases/calls"
require_relative "server_cases/endings"
require_relative "server_cases/lone_requests"
require_relative "server_cases/misbehaviour"
require_relative "server_cases/nesting"
require_relative "server_cases/notifications"
require_relative "server_cases/raised"
require_relative "server_cases/rounds"
require_relative "server_cases/security"
require_relative "server_cases/service"
require_relative "server_cases/state"
require_relative "talker"

# What a server does on every mechanism; who includes it says `mechanism`. Peers are sockets in the hands of the test.
module ServerCases
  include BadInput
  include Batches
  include Bounds
  include Calls
  include Endings
  include LoneRequests
  include Misbehaviour
  include Nesting
  include Notifications
  include Raised
  include Rounds
  include Security
  include State

  RPC = Plait::RPC

  def setup
    @talkers = []
    @service = Service.new(queue)
  end

  def teardown
    @talkers.each { |talker| talker.socket.close }
    return unless @server

    @server.stop(within: 0)
    assert(@thread.join(60), "the server has not ended")
  ensure
    @service.close
    File.unlink(@authority) if @authority
  end

  # By which the test and the methods talk.
  def queue = Thread::Queue

  # Starts a server, which teardown ends.
  def serve(handler = @service, at: "tcp://127.0.0.1:0", tls: nil, **options)
    options = { methods: METHODS, **options } if handler == @service
    @server = RPC::Server.new(handler, on: mechanism, **options)
    @endpoint = @server.listen(at, tls: tls)
    @thread = @server.start
    @thread.report_on_exception = false
    @server
  end

  # @return [Talker] connected, closed by teardown
  def connect
    socket = @endpoint.unix? ? UNIXSocket.new(@endpoint.path) : TCPSocket.new(@endpoint.host, @endpoint.port)
    socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1) unless @endpoint.unix?
    Talker.new(socket).tap { |talker| @talkers << talker }
  end

  # @return [Integer] as the server has counted
  def count(what) = @server.statistics.fetch(what, 0)

  # @return [Array] error, result
  def call(talker, method, *arguments)
    talker.request(7, method, *arguments)
    answer = talker.hear
    assert_equal([1, 7], answer.first(2))
    answer.last(2)
  end

  def assert_serves(talker = connect) = assert_equal([nil, 3], call(talker, "add", 1, 2))

  # Whether the server has ended the connection.
  def assert_closed(talker, within: 60)
    assert(talker.socket.wait_readable(within), "neither an answer nor the end came")
    talker.socket.readpartial(1 << 20) while true # rubocop:disable Style/InfiniteLoop
  rescue EOFError, Errno::ECONNRESET, Errno::EPIPE
    nil
  end

  def stopwatch
    began = Plait::Deadline.now
    yield
    Plait::Deadline.now - began
  end
end
