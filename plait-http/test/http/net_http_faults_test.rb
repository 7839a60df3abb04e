# frozen_string_literal: true

require_relative "net_http_origin"

# Whatever goes wrong in the middle of an exchange: its connection is not used again, and what is cut off is no success.
class NetHTTPFaultsTest < Minitest::Test
  include NetHTTPCases

  # Half an answer, and the rest when the test says so: whoever gets this connection next would read it as his own.
  HALF = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"
  POISON = "#{"x" * 96}HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nPOISON".freeze

  def half_way(&block)
    rest = Queue.new
    routes = { "/half" => lambda { |io, _|
      io.write(HALF)
      rest.pop
      io.write(POISON)
    } }
    origin(routes) { |origin| block.call(origin, rest) }
  end

  # A short time may be over before the origin was asked.
  def each_time(&block)
    in_growing_times(0.1, 1, 10) do |seconds|
      NetHTTP.clear
      @before = NetHTTP.statistics
      half_way do |origin, rest|
        block.call(origin, rest, seconds)
        assert_includes(origin.requests.map(&:path), "/half")
      end
    end
  end

  # How an exchange can end early. Each gets a Net::HTTP, started or not, and the seconds after which a timeout ends it.
  ENDINGS = {
    break: ->(http, _) { http.request_get("/half") { |response| response.read_body { break } } },
    break_out_of_all: ->(http, _) { http.get("/half") { break } },
    rescued: lambda { |http, _|
      http.request_get("/half") { |response| impatient(http) { ending_in(Net::ReadTimeout) { response.body } } }
    },
    break_before_the_body: ->(http, _) { http.request_get("/half") { break } },
    throw: ->(http, _) { catch(:out) { http.request_get("/half") { |response| response.read_body { throw :out } } } },
    error: ->(http, _) { ending_in(KeyError) { http.request_get("/half") { raise KeyError } } },
    exception: ->(http, _) { ending_in(NotImplementedError) { http.request_get("/half") { raise NotImplementedError } } },
    read_timeout: lambda { |http, _|
      ending_in(Net::ReadTimeout) { http.request_get("/half") { |response| impatient(http) { response.read_body } } }
    },
    timeout: ->(http, seconds) { ending_in(Timeout::Error) { Timeout.timeout(seconds) { http.get("/half") } } },
    plait_timeout: ->(http, seconds) { ending_in(Plait::TimeoutError) { Plait.timeout(seconds) { http.get("/half") } } },
    kill: ->(http, _) { half_read(http).kill.join },
    raise_from_outside: ->(http, _) { ended(IOError, half_read(http)) },
    interrupt: ->(http, _) { ended(Interrupt, half_read(http)) },
    cancel: ->(http, seconds) { Plait.first([0, 1], on: :fibers) { |n| n.zero? ? sleep(seconds) : http.get("/half") } },
    fiber_timeout: lambda { |http, seconds|
      ending_in(Plait::TimeoutError) { Plait.map([1], on: :fibers, timeout: seconds) { http.get("/half") } }
    }
  }.freeze

  class << self
    def ending_in(error)
      yield
      raise "no #{error}"
    rescue error
      nil
    end

    # A short read_timeout is for the body alone: the head has come.
    def impatient(http)
      http.read_timeout = 0.05
      yield
    ensure
      http.read_timeout = 60
    end

    # An IOError before anything of the answer has come is that of a stale connection: the request would be sent anew.
    # @return [Thread] that has got half of the answer, and waits for the rest
    def half_read(http)
      begun = false
      thread = Thread.new { http.get("/half") { begun = true } }
      thread.report_on_exception = false
      Support::Waiting.wait_until { begun }
      thread
    end

    def ended(error, thread)
      thread.raise(error)
      ending_in(error) { thread.value }
    end
  end

  ENDINGS.each do |name, ending|
    define_method(:"test_no_answer_for_the_next_one_after_#{name}") do
      each_time do |origin, rest, seconds|
        ending.call(http_to(origin, max_retries: 0), seconds)
        rest.close
        assert_equal(%w[/1 /2].map { |path| "GET #{path} " }, %w[/1 /2].map { |path| Net::HTTP.get(origin.url(path)) })
        assert_equal([0, 1], NetHTTP.statistics.to_h.values_at(:in_use, :idle))
        assert_equal([2, 2], [counted(:opened), origin.connections])
        NetHTTP.clear
      end
    end

    define_method(:"test_no_answer_for_the_next_one_in_the_session_after_#{name}") do
      each_time do |origin, rest, seconds|
        http = http_to(origin, max_retries: 0).start
        http.get("/0")
        ending.call(http, seconds)
        rest.close
        assert_equal(%w[/1 /2].map { |path| "GET #{path} " }, %w[/1 /2].map { |path| http.get(path).body })
        http.finish
        assert_equal([2, 2], [counted(:opened), origin.connections])
        NetHTTP.clear
      end
    end
  end

  def test_a_body_that_was_left_is_not_begun_anew
    half_way do |origin, rest|
      pieces = []
      response = http_to(origin).request_get("/half") { |r| r.read_body { |piece| break pieces << piece } }
      assert_equal([["half"], "200", nil], [pieces, response.code, response.body])
      rest.close
    end
  end

  TRUNCATED = {
    "/length" => HALF,
    "/none_of_it" => "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n",
    "/head" => "HTTP/1.1 200 OK\r\nContent-Type: text/pl",
    "/head_without_its_end" => "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n",
    "/chunk" => "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
    "/last_chunk" => "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n",
    "/trailer" => "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n",
    "/gzip" => "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 1000\r\n\r\n#{Zlib.gzip("x" * 100)[0, 15]}"
  }.freeze

  def cut_off = TRUNCATED.transform_values { |bytes| ->(io, _) { io.write(bytes) && nil } }

  def test_what_is_cut_off_is_an_error
    origin(cut_off) do |origin|
      TRUNCATED.each_key do |path|
        error = assert_raises(EOFError, path) { Net::HTTP.get(origin.url(path)) }
        assert_includes(error.message, "127.0.0.1:#{origin.port}", path) if path == "/length"
        assert_equal("GET /after ", Net::HTTP.get(origin.url("/after")))
      end
      NetHTTP.clear
    end
  end

  def test_what_is_cut_off_is_asked_for_once
    origin(cut_off) do |origin|
      pieces = []
      assert_raises(EOFError) { http_to(origin).get("/length") { |piece| pieces << piece } }
      assert_equal(["half"], pieces)
      assert_equal(1, origin.requests.size)
    end
  end

  def test_strictness_can_be_switched_off
    NetHTTP.configure(strict: false)
    origin(cut_off) do |origin|
      assert_equal("half", Net::HTTP.get(origin.url("/length")))
      assert_equal("GET /after ", Net::HTTP.get(origin.url("/after")))
      NetHTTP.clear
      NetHTTP.disable
      assert_equal("half", Net::HTTP.get(origin.url("/length")), "as Net::HTTP does")
    end
  end

  # What the answer leaves in doubt, and what comes after it.
  DOUBTFUL = {
    "/more" => "#{NetHTTPCases.answer("ok")}#{NetHTTPCases.answer("POISON")}",
    "/two_lengths" => NetHTTPCases.answer("ok", fields: ["Content-Length: 60"]),
    "/length_and_chunked" => "HTTP/1.1 200 OK\r\nContent-Length: 99\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
    "/body_of_a_304" => "HTTP/1.1 304 Not Modified\r\n\r\n#{NetHTTPCases.answer("POISON")}"
  }.freeze

  def test_a_doubtful_end_is_the_end_of_the_connection
    origin(DOUBTFUL.transform_values { |bytes| ->(io, _) { io.write(bytes) } }) do |origin|
      DOUBTFUL.each_key do |path|
        connections = origin.connections
        Net::HTTP.start("127.0.0.1", origin.port) do |http|
          begin
            http.get(path)
          rescue Net::HTTPHeaderSyntaxError # from 0.7 on net-http itself refuses two lengths
            nil
          end
          assert_equal("GET /next ", http.get("/next").body, path)
        end
        assert_equal(connections + 2, origin.connections, path)
        NetHTTP.clear
      end
    end
  end

  def test_bytes_that_come_late_are_not_the_next_answer
    late = Queue.new
    routes = { "/late" => lambda { |io, _|
      io.write(answer("ok"))
      late.pop
      io.write(answer("POISON"))
      late.close
    } }
    origin(routes) do |origin|
      assert_equal("ok", Net::HTTP.get(origin.url("/late")))
      late << true
      wait_until { late.closed? }
      assert_equal("GET /next ", Net::HTTP.get(origin.url("/next")))
      assert_equal(1, counted(:stale))
      NetHTTP.clear
    end
  end

  def test_connections_closed_meanwhile_are_not_used
    origin do |origin|
      begun = Queue.new
      session = ->(http) { (begun << http.get("/")) && wait_until { begun.size == 3 } }
      Array.new(3) { Thread.new { Net::HTTP.start("127.0.0.1", origin.port, &session) } }.each(&:join)
      assert_equal(3, NetHTTP.statistics.idle)
      origin.hang_up
      assert_equal("POST /p x", Net::HTTP.post(origin.url("/p"), "x").body)
      assert_equal(3, counted(:stale))
      NetHTTP.clear
    end
  end

  def test_neither_is_one_that_was_closed_while_its_session_did_something_else
    origin do |origin|
      http = http_to(origin).start
      http.get("/")
      origin.hang_up
      assert_equal("POST /p x", http.post("/p", "x").body)
      http.finish
      NetHTTP.clear
    end
  end

  def test_one_that_ended_with_the_answer_is_not_kept
    origin("/all" => ->(io, _) { io.write("HTTP/1.1 200 OK\r\n\r\nall") && nil }) do |origin|
      assert_equal("all", Net::HTTP.get(origin.url("/all")))
      assert_equal([0, 0], NetHTTP.statistics.to_h.values_at(:idle, :in_use))
    end
  end

  # It closes the connection when the second request is there, without an answer.
  def closes_on_the_second(&block)
    seen = Hash.new(0).compare_by_identity
    origin("/x" => ->(io, _) { (seen[io] += 1) < 2 ? io.write(answer("ok")) : nil }, &block)
  end

  def test_a_stale_connection_is_retried_where_that_is_safe
    closes_on_the_second do |origin|
      3.times { assert_equal("ok", Net::HTTP.get(origin.url("/x"))) }
      assert_equal(5, origin.requests.size)
      NetHTTP.clear
    end
  end

  def test_also_for_who_wants_no_retries
    closes_on_the_second do |origin|
      2.times { assert_equal("ok", http_to(origin, max_retries: 0).get("/x").body) }
      NetHTTP.clear
    end
  end

  def test_a_post_is_not_sent_twice
    closes_on_the_second do |origin|
      Net::HTTP.get(origin.url("/x"))
      assert_raises(EOFError) { Net::HTTP.post(origin.url("/x"), "pay") }
      assert_equal(%w[GET POST], origin.requests.map(&:verb))
    end
  end

  def test_neither_is_a_body_that_was_read_from_a_stream
    closes_on_the_second do |origin|
      Net::HTTP.get(origin.url("/x"))
      request = Net::HTTP::Put.new("/x", "Content-Length" => "3", "Content-Type" => "a/b")
      request.body_stream = StringIO.new("abc")
      assert_raises(EOFError) { http_to(origin).request(request) }
      assert_equal(%w[GET PUT], origin.requests.map(&:verb))
    end
  end

  def test_max_retries_is_honoured
    origin("/x" => ->(*) {}) do |origin|
      { 0 => 1, 1 => 2, 3 => 4 }.each do |retries, requests|
        before = origin.requests.size
        http = http_to(origin, max_retries: retries)
        assert_raises(EOFError) { http.get("/x") }
        assert_equal(requests, origin.requests.size - before)
        assert_equal(retries, http.max_retries)
      end
    end
  end

  def test_two_threads_on_one_object_never_swap_answers
    half_way do |origin, rest|
      http = http_to(origin).start
      slow = Thread.new { http.get("/half").body }
      wait_until { origin.requests.any? }
      error = assert_raises(Plait::UsageError) { http.get("/2") }
      assert_includes(error.message, "GET /half")
      rest << true
      assert_equal("half#{"x" * 96}", slow.value)
      http.finish
    end
  end

  def test_a_request_in_the_block_of_an_unread_answer_is_refused
    half_way do |origin, rest|
      http = http_to(origin).start
      assert_raises(Plait::UsageError) { http.request_get("/half") { http.get("/2") } }
      rest.close
      assert_equal("GET /3 ", http.get("/3").body)
      http.finish
      NetHTTP.clear
    end
  end

  def test_a_connection_that_was_logged_in_stays_with_its_session
    challenge = answer("", status: "401 Unauthorized", fields: ["WWW-Authenticate: NTLM"])
    origin("/ntlm" => ->(io, _) { io.write(challenge) }) do |origin|
      Net::HTTP.start("127.0.0.1", origin.port) do |http|
        http.get("/ntlm")
        http.get("/same", "Authorization" => "NTLM TlRMTVNTUAAB")
        assert_equal(1, origin.connections)
      end
      assert_equal(0, NetHTTP.statistics.idle)
    end
  end

  def test_a_connection_that_an_answer_calls_logged_in_is_for_no_other_session
    ["WWW-Authenticate: Negotiate oYG=", "Persistent-Auth: true", "Keep-Alive: max=0"].each do |field|
      origin("/x" => ->(io, _) { io.write(answer("x", fields: [field])) }) do |origin|
        2.times { assert_equal("x", Net::HTTP.get(origin.url("/x"))) }
        assert_equal([2, 0], [origin.connections, NetHTTP.statistics.idle], field)
      end
    end
  end

  def test_an_answer_before_the_body_ends_the_connection
    origin("/big" => ->(io, _) { io.write(answer("no", status: "413 Too Large")) }) do |origin|
      request = Net::HTTP::Put.new("/big", "Expect" => "100-continue", "Content-Type" => "a/b")
      request.body = "x"
      http_to(origin, continue_timeout: 0.01).request(request)
      assert_equal(0, NetHTTP.statistics.idle)
    end
  end
end
