# frozen_string_literal: true

require_relative "../test_helper"
require "net/http"
require_relative "../../bench/databases/support/thread_per_connection"

class ThreadPerConnectionTest < Minitest::Test
  def setup
    threads = @threads = Queue.new
    app = lambda do |env|
      threads << Thread.current
      [env["PATH_INFO"] == "/no" ? 500 : 200, {}, ["asked ", env["QUERY_STRING"]]]
    end
    @server = Bench::ThreadPerConnection.new(app)
    @running = Thread.new { @server.run }
  end

  def teardown
    @running.kill.join
    @threads.close
  end

  def test_a_connection_has_its_thread_for_as_long_as_it_lasts
    answers = Net::HTTP.start("127.0.0.1", @server.port) do |first|
      [first.get("/?1").body, first.get("/?2").body, Net::HTTP.get("127.0.0.1", "/?3", @server.port)]
    end
    assert_equal(["asked 1", "asked 2", "asked 3"], answers)
    of_first, of_second, of_other = Array.new(3) { @threads.pop }
    assert_same(of_first, of_second)
    refute_same(of_first, of_other)
  end

  { "GET / HTTP/1.1\r\n\r\n" => true, "GET / HTTP/1.1\r\nConnection: close\r\n\r\n" => false,
    "GET / HTTP/1.0\r\n\r\n" => false, "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n" => true }.each do |request, kept|
    define_method(:"test_what_is_kept_open_#{request.scan(/\w+/).join("_")}") do
      TCPSocket.open("127.0.0.1", @server.port) do |socket|
        socket.write(request)
        assert_includes(socket.gets("asked "), "connection: #{kept ? "keep-alive" : "close"}\r\n")
        kept ? assert_nil(socket.wait_readable(0.05)) : assert_equal("", socket.read)
      end
    end
  end

  def test_an_error_is_told
    assert_equal("500", Net::HTTP.get_response("127.0.0.1", "/no", @server.port).code)
  end
end
