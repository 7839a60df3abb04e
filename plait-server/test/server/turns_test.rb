# frozen_string_literal: true

require "test_helper"
require "plait/io/native"
require "plait/server"
require_relative "lone_server"

if Plait.const_get(:Native).available? && Plait.const_defined?(:NativeServer)
  # That nobody is answered late because a worker has lost his turn in the middle of the request.
  class ServerTurnsTest < Minitest::Test
    CONNECTIONS = 32
    # Requests that are received at once.
    MANY = 2_200
    # Seconds: some twenty of Ruby's time slices.
    LONG = 2
    REQUEST = "GET /compute HTTP/1.1\r\nHost: a\r\n\r\n"

    # On threads that would last for a time slice, hundreds of requests long. What is counted are answers, not seconds: so
    # nothing depends on how busy the machine is.
    %i[threads fibers].each do |mechanism|
      define_method("test_no_request_on_#{mechanism}_is_overtaken_by_many_others") do
        LoneServer.run(mechanism, limit: 5) do |server|
          assert(3.times.any? { most_overtaken(server.port) < 8 * CONNECTIONS }, "requests are overtaken each time")
        end
      end
    end

    # Who has sent thousands of requests at once has his turns, and others theirs in between: also one who is heard of only then.
    %i[fibers hybrid].each do |mechanism|
      define_method("test_many_requests_at_once_on_#{mechanism}_overtake_nobody") do
        other = nil
        served = 0
        at = Thread::Queue.new
        app = lambda do |env|
          at << served if env["PATH_INFO"] == "/other"
          other.write("GET /other HTTP/1.1\r\nHost: a\r\n\r\n") if (served += 1) == 100
          200.times(&:to_s)
          [200, {}, []]
        end
        server = Plait::Server.new(app, on: mechanism, bind: "tcp://127.0.0.1:0")
        thread = server.start
        other, many = Array.new(2) { TCPSocket.new("127.0.0.1", server.endpoints.first.port) }
        many.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n" * MANY)
        assert_operator(at.pop, :<, MANY / 2)
      ensure
        [other, many].each(&:close)
        server.stop(within: 0)
        thread.join
      end
    end

    private

    # @return [Integer] answers to others between a request and the answer to it, at the most
    def most_overtaken(port)
      asked = Array.new(CONNECTIONS) { TCPSocket.new("127.0.0.1", port) }.to_h { |socket| [socket, 0] }
      asked.each_key { |socket| socket.write(REQUEST) }
      most = answers = 0
      till = Process.clock_gettime(Process::CLOCK_MONOTONIC) + LONG
      while Process.clock_gettime(Process::CLOCK_MONOTONIC) < till
        answered(asked.keys).each do |socket|
          most = [most, (answers += 1) - asked[socket]].max
          asked[socket] = answers
          socket.write(REQUEST)
        end
      end
      asked.each_key(&:close)
      most
    end

    # The answers are so short that each comes as a whole.
    def answered(sockets)
      ready, = IO.select(sockets, nil, nil, 60)
      flunk("nobody was answered for 60 s") unless ready
      ready.each { |socket| assert_match(%r{\AHTTP/1\.1 200 .*\r\n\r\n\z}m, socket.readpartial(4096)) }
    end
  end
end
