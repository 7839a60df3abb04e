# frozen_string_literal: true

require "plait/http"
require "plait/protocols/http1"
require_relative "raw_server"
require_relative "wire_cases/answers"
require_relative "wire_cases/conformance"
require_relative "wire_cases/crowds"
require_relative "wire_cases/deadlines"
require_relative "wire_cases/early_answers"
require_relative "wire_cases/endings"
require_relative "wire_cases/interruptions"
require_relative "wire_cases/lenient"
require_relative "wire_cases/limits"
require_relative "wire_cases/requests"
require_relative "wire_cases/reuse"
require_relative "wire_cases/streams"
require_relative "wire_cases/tls"
require_relative "wire_cases/whole_times"
require_relative "wire_cases/write_time"

# What each wire must do, the native one and its twin. Included by a test class of its own, which says which one:
#
#     class PureWireTest < Minitest::Test
#       include WireCases
#       def wire_class = Plait::HTTP::PureWire
#     end
module WireCases
  include Answers
  include Conformance
  include Crowds
  include Deadlines
  include EarlyAnswers
  include Endings
  include Interruptions
  include Lenient
  include Limits
  include Requests
  include Reuse
  include Streams
  include TLS
  include WholeTimes
  include WriteTime

  Timeouts = Plait::HTTP::Timeouts
  # Generous: only what tests timeouts has its own.
  PATIENT = Timeouts.new(first_byte: 60, read: 60)
  ENDPOINT = "tcp://origin:80"
  BLOCK = "Host: origin\r\n"
  HEAD = "GET / HTTP/1.1\r\nHost: origin\r\n\r\n"
  OK = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
  CHUNKED = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n6\r\n world\r\n0\r\nX-Sum: 9\r\n\r\n"

  # What a peer does, see RawServer: nothing; or it answers each request with the same bytes; or it sends these after the
  # first request, and then nothing.
  STALL = :stall.to_proc
  ANSWER = ->(bytes) { ->(peer) { peer.answer(bytes) } }
  SAY = ->(bytes, **how) { ->(peer) { peer.head && peer.say(bytes, **how) && peer.stall } }

  private

  def serve(script, &block) = RawServer.open(script, &block)

  def wire_to(server, **options) = wire_class.new(server.connect, endpoint: ENDPOINT, **options)

  # A wire to a server that runs the script.
  # @yieldparam wire [Plait::HTTP::Wire]
  def with_wire(script, **options)
    serve(script) do |server|
      wire = wire_to(server, **options)
      yield(wire, server)
    ensure
      wire&.close
    end
  end

  # A wire, and the other end of its connection.
  def with_pair(*type, **options)
    ours, theirs = UNIXSocket.pair(*type)
    wire = wire_class.new(ours, endpoint: ENDPOINT, **options)
    yield(wire, RawServer::Peer.new(theirs))
  ensure
    wire&.close
    theirs&.close
  end

  # A wire whose peer sends the first part of its answer before the request. So a slow peer takes no time of a short limit.
  # @param beside [#call] what the peer does then, on a thread
  def with_begun(said, beside = STALL, **options)
    with_pair(**options) do |wire, peer|
      peer.say(said)
      thread = Thread.new do
        beside.call(peer)
      rescue IOError, SystemCallError
        nil # the wire is closed
      end
      yield(wire)
    ensure
      thread&.kill&.join # before the socket is closed: on Ruby 3.3 a close in a fiber of Async would wait for its write
    end
  end

  # What the exchanges of a test have that says nothing of it.
  def usual = @usual || PATIENT

  def get(wire, timeouts: usual, deadline: nil) = wire.get("/", 0, BLOCK, timeouts, deadline)

  def post(wire, body, size: nil, timeouts: usual) = wire.call(head_of_post(size || body.bytesize), body, 0, timeouts, nil)

  def head_of_post(size) = "POST / HTTP/1.1\r\nHost: origin\r\nContent-Length: #{size}\r\n\r\n"

  def opened(wire, timeouts: usual, deadline: nil) = wire.open(HEAD, nil, 0, timeouts, deadline)

  # @return [Array<String>] all that is left of the body
  def pieces(wire)
    pieces = []
    while (piece = wire.read_piece)
      pieces << piece
    end
    pieces
  end

  # The two ways of getting an answer, each giving its whole body.
  def ways
    {
      whole: ->(wire) { get(wire) },
      piecewise: ->(wire) { opened(wire).tap { |response| response.body = pieces(wire).join } }
    }
  end

  # @return [Boolean] whether an exchange is under way; asking does not disturb it
  def busy?(wire)
    !wire.reusable? && wire.detach && false
  rescue Plait::UsageError => e
    e.message.include?("in use")
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  # @return [Integer] bytes of memory of this process
  def resident = File.read("/proc/self/statm").split[1].to_i * 4096
end
