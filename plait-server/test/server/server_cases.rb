# frozen_string_literal: true

require "rack"
require "rack/lint"
require "plait/server"
require "support/interrupts"
require_relative "caller"
require_relative "server_cases/answers"
require_relative "server_cases/bad_answers"
require_relative "server_cases/bad_input"
require_relative "server_cases/bounds"
require_relative "server_cases/endings"
require_relative "server_cases/forks"
require_relative "server_cases/framing"
require_relative "server_cases/inputs"
require_relative "server_cases/pieces"
require_relative "server_cases/places"
require_relative "server_cases/raises"
require_relative "server_cases/requests"
require_relative "server_cases/streams"
require_relative "server_cases/takeovers"
require_relative "server_cases/tls"

# What a server does on every mechanism; who includes it says `mechanism`.
module ServerCases
  include Answers
  include BadAnswers
  include BadInput
  include Bounds
  include Endings
  include Forks
  include Framing
  include Inputs
  include Pieces
  include Places
  include Raises
  include Requests
  include Streams
  include Takeovers
  include Support::Interrupts
  include TLS

  # Keeps what apps complain about, as the error stream of a request.
  class Errors
    def initialize
      @lines = Thread::Queue.new
    end

    def puts(line) = @lines << line.to_s
    def write(line) = puts(line)
    def flush = self

    # @return [String] the next complaint
    def next = Support::Waiting.wait_until(what: "a complaint") { @lines.pop(true) unless @lines.empty? }

    def empty? = @lines.empty?
  end

  def setup
    @callers = []
    @errors = Errors.new
  end

  def teardown
    @callers.each(&:close)
    return unless @server

    @server.stop(within: 0)
    assert(@thread.join(20), "the server has not ended")
  end

  # Starts a server, which teardown ends. Rack::Lint stands around the app.
  # @param complain [Boolean] whether what apps complain about goes to @errors
  def serve(app = nil, at: "tcp://127.0.0.1:0", tls: nil, lint: true, complain: true, **options, &block)
    app ||= block
    app = Rack::Lint.new(app) if lint
    app = with_errors(app) if complain
    @server = Plait::Server.new(app, on: mechanism, **options)
    @endpoint = @server.listen(at, tls: tls)
    @thread = @server.start
    @thread.report_on_exception = false
    @server
  end

  # Which answers each request with a text.
  def serve_text(text = "Hello", **options) = serve(**options) { [200, { "content-type" => "text/plain" }, [text]] }

  # @return [Caller] closed by teardown
  def connect
    socket = @endpoint.unix? ? UNIXSocket.new(@endpoint.path) : TCPSocket.new(@endpoint.host, @endpoint.port)
    socket.setsockopt(:TCP, :NODELAY, 1) unless @endpoint.unix?
    Caller.new(socket).tap { |caller| @callers << caller }
  end

  def get(...) = connect.get(...)

  # @return [Integer] as the server has counted
  def count(what) = @server.statistics.fetch(what, 0)

  def assert_serves = assert_equal(200, get.status)

  # Whether the server has ended the connection.
  def assert_closed(caller) = assert_empty(caller.rest, "neither the end came nor nothing")

  private

  def with_errors(app)
    errors = @errors
    ->(env) { app.call(env.merge!("rack.errors" => errors)) }
  end
end
