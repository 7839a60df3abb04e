# frozen_string_literal: true

require "test_helper"
require "support/conformance/http1_requests"
require_relative "server_cases"

# Each request of the table, whole and byte by byte: what is right reaches the app, and what is not is answered with the
# status of the rule that it breaks, and the connection closed, without the app having seen anything.
class ServerConformanceTest < Minitest::Test
  RULES = Plait.const_get(:Protocols)::HTTP1::Rules::ALL
  SERVERS = {} # rubocop:disable Style/MutableConstant -- one for each set of limits, for all tests

  # A server and what its app was asked.
  Serving = Struct.new(:server, :endpoint, :thread, :seen) do
    def self.begin(limits)
      seen = Thread::Queue.new
      app = lambda do |env|
        seen << [env["REQUEST_METHOD"], env["PATH_INFO"], env["rack.input"].read]
        [200, {}, []]
      end
      server = Plait::Server.new(Rack::Lint.new(app), on: :fibers, limits: limits)
      new(server, server.listen("tcp://127.0.0.1:0"), server.start, seen)
    end

    def end
      server.stop(within: 0)
      thread.join(20) or raise "a server has not ended"
    end
  end

  Minitest.after_run { SERVERS.each_value(&:end) }

  # Rack::Lint takes no IPv6 address for the authority that it is.
  SAMPLES = Conformance::HTTP1_REQUESTS.reject { |sample| sample.name == "CONNECT to an IPv6 address" }

  SAMPLES.each do |sample|
    name = sample.name.tr(" ", "_")
    define_method(:"test_whole_#{name}") { check(sample, [sample.bytes]) }
    define_method(:"test_byte_by_byte_#{name}") { check(sample, sample.bytes.each_char) }
  end

  private

  def check(sample, pieces)
    @serving = SERVERS[sample.limits] ||= Serving.begin(sample.limits)
    caller = Caller.new(TCPSocket.new("127.0.0.1", @serving.endpoint.port))
    caller.socket.setsockopt(:TCP, :NODELAY, 1)
    say(sample, caller, pieces)
    sample.rule ? assert_refused(sample, caller) : assert_served(sample, caller)
  ensure
    leave(caller) if caller
    @serving.seen.clear
  end

  # Not before the server is done with what was sent: a request behind the one looked at must not be seen by the next test.
  def leave(caller)
    caller.socket.close_write
    caller.rest
  rescue Errno::EPIPE, Errno::ECONNRESET, Errno::ENOTCONN
    nil
  ensure
    caller.close
  end

  # A server may have answered, and closed, before all was sent.
  def say(sample, caller, pieces)
    pieces.each { |piece| caller.send(piece) }
    caller.socket.close_write if sample.eof
  rescue Errno::EPIPE, Errno::ECONNRESET, Errno::ENOTCONN
    nil
  end

  def assert_refused(sample, caller)
    status = RULES.fetch(sample.rule).status
    if sample.rule.start_with?("truncated")
      assert_empty(caller.rest.sub(%r{\AHTTP/1.1 100 Continue\r\n\r\n}, ""), "nobody is there who could be told")
    else
      assert_equal([status, "close"], [(answer = final(caller)).status, answer.fields["connection"]])
      assert_empty(caller.rest)
    end
    assert_empty(@serving.seen)
  end

  def assert_served(sample, caller)
    return assert_empty(@serving.seen) if sample.expected[:ends] != :done

    head = sample.expected[:method] == "HEAD"
    answer = final(caller, to_head: head)
    assert_equal(200, answer.status)
    method, _, body = @serving.seen.pop
    assert_equal(sample.expected[:method], method) if sample.expected[:method]
    assert_equal(sample.expected[:body], body) if sample.expected[:body]
    assert_in_step(caller) unless answer.fields["connection"] == "close" || sample.eof || sample.expected[:rest]
  end

  # Nothing of the request is left that could be taken for another one.
  def assert_in_step(caller)
    assert_equal(200, caller.send("GET /after HTTP/1.1\r\nHost: a\r\n\r\n").hear.status)
    assert_equal(["GET", "/after", ""], @serving.seen.pop)
    assert_empty(@serving.seen)
  end

  def final(caller, to_head: false)
    answer = caller.hear(to_head: to_head)
    answer.status == 100 ? caller.hear(to_head: to_head) : answer
  end
end
