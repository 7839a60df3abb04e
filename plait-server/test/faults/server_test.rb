# frozen_string_literal: true

require "test_helper"
require "plait/server"
require_relative "../server/lone_server"

# A server among clients that misbehave, and many of them: the others are served all the while, nothing is left of it, and the
# server lives.
class ServerFaultsTest < Minitest::Test
  MECHANISMS = %i[threads fibers hybrid].freeze
  # In all, on each mechanism its part: 1.5 kB that each would leave are seen. PLAIT_SHORT_CONNECTIONS=100000 sees 360 bytes.
  SHORT = Integer(ENV.fetch("PLAIT_SHORT_CONNECTIONS", "24000"))
  MANY = 10_000
  # Descriptors besides those of connections.
  SPARE = 500
  GET = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
  POST = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n0123456789"
  RESET = [1, 0].pack("ii").freeze
  GONE = [Errno::EPIPE, Errno::ECONNRESET, Errno::ENOTCONN, EOFError].freeze

  def hard_timeout = 600

  def setup = @callers = []

  def teardown = @callers.each(&:close)

  MECHANISMS.each do |mechanism|
    define_method(:"test_short_connections_on_#{mechanism}") do
      among_others(mechanism) do
        2_000.times { |number| short_connection(number) }
        before = settled
        (SHORT / MECHANISMS.size).times { |number| short_connection(number) }
        assert_nothing_left(before)
      end
    end

    define_method(:"test_clients_that_reset_at_every_byte_on_#{mechanism}") do
      among_others(mechanism) do
        every_byte
        before = settled
        5.times { every_byte }
        assert_nothing_left(before)
      end
    end

    define_method(:"test_slowloris_on_#{mechanism}") do
      among_others(mechanism, head_timeout: 2, body_timeout: 2) do
        before = settled
        slow = Array.new(300) { |number| own.send(number.even? ? "GET / HTTP/1.1\r\nX-" : "#{POST[0..-11]}0") }
        5.times do
          slow.each { |caller| trickle(caller) }
          assert_others_served
          sleep(0.1)
        end
        slow.each { |caller| assert_match(%r{\A(?:HTTP/1.1 408 |\z)}, caller.rest) }
        assert_nothing_left(before)
      end
    end

    define_method(:"test_slow_readers_on_#{mechanism}") do
      among_others(mechanism, write_timeout: 2) do
        before = settled
        slow = Array.new(60) { |number| own.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n" * ((number % 3) + 10)) }
        slow.each { |caller| caller.socket.readpartial(100) }
        assert_others_served
        wait_until(timeout: 120) { @lone.tell[:connections] <= 2 }
        assert_nothing_left(before)
      end
    end

    define_method(:"test_floods_of_fields_on_#{mechanism}") do
      among_others(mechanism) do
        before = settled
        60.times do |number|
          assert_match(%r{\AHTTP/1.1 (?:431|414|400) }, flooded(own, number % 3))
          assert_others_served if (number % 10).zero?
        end
        assert_nothing_left(before)
      end
    end
  end

  %i[fibers threads].each do |mechanism|
    define_method(:"test_ten_thousand_connections_on_#{mechanism}") do
      limit = Process.getrlimit(:NOFILE).first
      skip("10,000 connections need as many descriptors: ulimit -n is #{limit}") if limit < MANY + SPARE

      among_others(mechanism, files: MANY + SPARE, connections: MANY + 100, idle_timeout: 600) do
        before = settled
        callers = Array.new(MANY) { own.send(GET) }
        callers.each { |caller| assert_equal(200, caller.hear.status) }
        wait_until { @lone.tell[:idle] >= MANY }
        assert_operator(@lone.tell[:memory] - before[:memory], :<, 15_000_000, "bytes for #{MANY} idle connections")
        callers.each { |caller| assert_equal(200, caller.send(GET).hear.status) }
        callers.each(&:close)
        assert_nothing_left(before)
      end
    end
  end

  private

  # @yield while somebody else is connected
  def among_others(mechanism, **options)
    LoneServer.run(mechanism, quiet: true, **options) do |server|
      @lone = server
      @other = own
      yield
      assert_others_served
    end
  end

  def own = @lone.connect.tap { |caller| @callers << caller }

  # Both who has been there and who comes now; the one may have had to make way for being idle.
  def assert_others_served
    @other = own if @other.nil? || @other.closed_by_peer?
    assert_equal(200, @other.send(GET).hear.status)
    fresh = @lone.connect
    assert_equal("0123456789", fresh.send(POST).hear.body)
  ensure
    fresh&.close
  end

  # Orderly and by a reset, before the answer and after it, in the middle of a request, and of an answer.
  def short_connection(number)
    caller = @lone.connect("127.0.0.#{2 + (number / 2_000 % 100)}")
    case number % 8
    when 0 then caller.send("GET / HT")
    when 1 then caller.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n").raw if number % 80 == 1
    when 2 then caller.send(POST).hear
    when 3 then caller.send(GET)
    else caller.send(GET).hear
    end
    caller.socket.setsockopt(Socket::SOL_SOCKET, Socket::SO_LINGER, RESET) unless (number % 8).between?(4, 5)
    caller.close
    assert_others_served if (number % 2_000).zero?
  end

  # Of a request with a body, and of the answers to it.
  def every_byte
    POST.size.times { |size| cut(@lone.connect.send(POST[0, size])) }
    120.times do |size|
      caller = @lone.connect.send(POST)
      caller.socket.readpartial(size + 1)
      cut(caller)
    end
    assert_others_served
  end

  def cut(caller)
    caller.socket.setsockopt(Socket::SOL_SOCKET, Socket::SO_LINGER, RESET)
    caller.close
  end

  def trickle(caller)
    caller.send("a")
  rescue *GONE
    nil # its time was up
  end

  # @return [String] what is answered
  def flooded(caller, kind)
    piece = ["X-#{rand(1 << 40)}: 1\r\n" * 1_000, "x" * 10_000, "X: 1\r\n" * 2_000][kind]
    caller.send(kind == 1 ? "GET /" : "GET / HTTP/1.1\r\nHost: a\r\n")
    200.times { caller.send(piece) }
    caller.rest
  rescue *GONE
    caller.rest
  end

  # When nobody but the other one is connected.
  def settled
    assert_others_served
    wait_until(timeout: 60) { (@held = @lone.tell)[:connections] <= 1 && @held[:running].zero? }
    @held
  end

  def assert_nothing_left(before)
    after = settled
    assert_equal(before[:files], after[:files], "descriptors")
    assert_operator(after[:threads], :<=, [before[:threads], 20].max, "threads")
    assert_operator(after[:fibers], :<=, before[:fibers] + 320, "fibers")
    assert_operator(after[:memory] - before[:memory], :<, 12_000_000, "bytes of memory")
  end
end
