# frozen_string_literal: true

require "test_helper"
require "support/certificates"
require "support/io_cases"
require "support/nginx_server"
require_relative "http2_peer"
require "digest/sha2"
require "plait/http"
require "plait/http/timeouts"
require "plait/http/http2"
require "plait/io/tls"

class HTTP2Test < Minitest::Test
  Io = Plait.const_get(:Io)
  include IoCases

  H2 = Plait::HTTP.const_get(:HTTP2)
  Protocol = Plait.const_get(:Protocols)::HTTP2
  Timeouts = Plait::HTTP::Timeouts
  CA = Certificates::Authority.new
  LEAF = CA.issue("DNS:localhost", "IP:127.0.0.1")
  MEGABYTE = 1 << 20

  # A connection that is asked as a client is.
  class Asking < H2::Connection
    def request(method, url, headers: nil, body: nil, timeouts: nil, deadline: nil)
      url = Plait::HTTP::URL.parse(url)
      upload = body && Plait::HTTP.const_get(:Upload).wrap(body, chunked: false)
      fields = Plait::HTTP::Headers.new("Host" => url.origin.host_header).merge(headers)
      fields.set("Content-Length", upload.size.to_s) if upload&.size
      head = "#{method.to_s.upcase} #{url.target} HTTP/1.1\r\n#{fields}\r\n"
      H2::Wire.new(self, url.origin).call(head, upload, 0, timeouts, deadline).tap { |response| response.url = url.to_s }
    end
  end

  # @!group Against nginx, by TLS and ALPN

  def test_asks_and_gets_an_answer
    nginx do |connection, url|
      response = connection.request("GET", "#{url}/echo/a?b=%20", headers: { "X-One" => "1", "Connection" => "close" })
      assert_equal([200, "2", "/echo/a?b=%20 1 HTTP/2.0", "#{url}/echo/a?b=%20"],
                   [response.status, response.version, response.body, response.url])
      assert_equal("text/plain", response["Content-Type"])
      assert_equal(Encoding::BINARY, response.body.encoding)
      assert_instance_of(Plait::HTTP::Response, response)
    end
  end

  def test_answers_without_a_body
    nginx do |connection, url|
      head = connection.request(:head, "#{url}/large")
      assert_equal([200, "", "3000000"], [head.status, head.body, head["content-length"]])
      assert_equal([204, ""], connection.request(:get, "#{url}/empty").then { |response| [response.status, response.body] })
      tag = connection.request(:get, "#{url}/large")["etag"]
      assert_equal(304, connection.request(:get, "#{url}/large", headers: { "If-None-Match" => tag }).status)
      assert_equal(404, connection.request(:get, "#{url}/nothing").status)
    end
  end

  everywhere("a hundred requests at once on one connection") do |mechanism|
    nginx do |connection, url|
      calls = Array.new(100) { |i| mechanism.beside { connection.request("GET", "#{url}/connection/#{i}").body } }
      answers = calls.map(&:call)
      assert_equal((0...100).map { |i| "/connection/#{i}" }, answers.map { |answer| answer.split.first })
      assert_equal(1, answers.map { |answer| answer.split.last }.uniq.size)
      assert_equal(0, connection.size)
    end
  end

  everywhere("large bodies at once both ways") do |mechanism|
    digest_origin do |port|
      nginx("location /up { proxy_pass http://127.0.0.1:#{port}; client_max_body_size 0; }") do |connection, url|
        large = Random.new(1).bytes(3_000_000)
        downs = Array.new(4) { mechanism.beside { connection.request("GET", "#{url}/large").body.hash } }
        ups = Array.new(4) { |i| mechanism.beside { connection.request("POST", "#{url}/up", body: large + i.to_s).body } }
        assert_equal([("x" * 3_000_000).b.hash], downs.map(&:call).uniq)
        assert_equal((0...4).map { |i| Digest::SHA256.hexdigest(large + i.to_s) }, ups.map(&:call))
      end
    end
  end

  def test_a_body_of_unknown_length
    digest_origin do |port|
      nginx("location /up { proxy_pass http://127.0.0.1:#{port}; }") do |connection, url|
        pieces = Enumerator.new { |yielder| 50.times { |i| yielder << ("#{i} " * 1000) } }
        assert_equal(Digest::SHA256.hexdigest(pieces.to_a.join), connection.request("POST", "#{url}/up", body: pieces).body)
        assert_equal(Digest::SHA256.hexdigest(""), connection.request("POST", "#{url}/up", body: "").body)
      end
    end
  end

  def test_an_upload_that_is_refused_at_once
    nginx("location /up { client_max_body_size 1; return 413; }") do |connection, url|
      assert_equal(413, connection.request("POST", "#{url}/up", body: "x" * 5_000_000).status)
      assert_equal(200, connection.request("GET", "#{url}/echo/after").status)
    end
  end

  def test_a_peer_that_allows_few_at_once
    nginx("", http: "http2_max_concurrent_streams 2;") do |connection, url|
      answers = Array.new(50) { |i| Thread.new { connection.request("GET", "#{url}/connection/#{i}").body } }.map(&:value)
      assert_equal((0...50).map { |i| "/connection/#{i}" }, answers.map { |answer| answer.split.first })
    end
  end

  # nginx says so by GOAWAY, and answers what it has.
  def test_a_peer_that_goes_away_after_some_requests
    nginx("keepalive_requests 5;") do |connection, url|
      answers = Array.new(5) { connection.request("GET", "#{url}/connection/").body.split.last }
      assert_equal(1, answers.uniq.size)
      wait_until { connection.stale? }
      refute_predicate(connection, :usable?)
      error = assert_raises(Plait::ConnectionClosed) { connection.request("GET", "#{url}/echo/") }
      assert_predicate(error, :retry_safe?)
      assert_predicate(connection, :closed?)
    end
  end

  everywhere("a peer that dies in mid-stream") do |mechanism|
    stalling_origin do |port, asked|
      nginx("location /stall { proxy_pass http://127.0.0.1:#{port}; proxy_buffering off; }") do |connection, url, server|
        calls = Array.new(5) { |i| mechanism.beside { rescued { connection.request("GET", "#{url}/stall/#{i}") } } }
        mechanism.beside { 5.times { asked.pop } && Process.kill(:KILL, -server.pid) }.call
        errors = calls.map(&:call)
        assert_equal([Plait::ConnectionClosed], errors.map(&:class).uniq)
        errors.each_with_index { |error, i| assert_match(%r{\AGET https://localhost:\d+/stall/#{i}: }, error.message) }
        refute(errors.any?(&:retry_safe?))
        assert_predicate(connection, :closed?)
      end
    end
  end

  # @!group Against a peer of the test's own

  everywhere("a timeout of one leaves the others working") do |mechanism|
    held = Queue.new
    peer = HTTP2Peer.handler { |request| request.path == "/slow" ? held << request : held_answer(request, held) }
    connected(peer) do |connection, url|
      slow = mechanism.beside { rescued { connection.request("GET", "#{url}/slow", timeouts: Timeouts.new(first_byte: 0.2)) } }
      others = Array.new(5) { |i| mechanism.beside { connection.request("GET", "#{url}/#{i}").body } }
      error = slow.call
      assert_instance_of(Plait::ReadTimeout, error)
      assert_match(/sent no answer in time/, error.message)
      mechanism.beside { 6.times { answer_path(held.pop) } }.call # the slow one too
      assert_equal(%w[/0 /1 /2 /3 /4], others.map(&:call))
      assert_equal("/late", connection.request("GET", "#{url}/late").body)
    end
  end

  # Frames of a stream that was reset were on their way. They are for nobody, and no error.
  def test_what_still_comes_on_a_stream_that_was_reset
    given_up = Queue.new
    peer = HTTP2Peer.handler do |request|
      next Thread.new { request.peer.raw(late_frames(given_up.pop)) && request.answer("after") } if request.path == "/after"
    end
    connected(peer) do |connection, url|
      20.times do |i|
        assert_raises(Plait::ReadTimeout) { connection.request("GET", "#{url}/#{i}", timeouts: Timeouts.new(total: 0.01)) }
        given_up << ((i * 4) + 1)
        assert_equal("after", connection.request("GET", "#{url}/after").body)
      end
    end
  end

  def test_whoever_reads_for_all_may_be_killed
    held = Queue.new
    connected(HTTP2Peer.handler { |request| held_answer(request, held) }) do |connection, url|
      threads = Array.new(8) { |i| Thread.new { connection.request("GET", "#{url}/#{i}").body } }
      wait_until { held.size == 8 }
      threads.first(4).each { |thread| thread.kill.join }
      held.size.times { answer_path(held.pop) } # nobody comes who could read instead
      assert_equal(%w[/4 /5 /6 /7], threads.last(4).map(&:value))
      assert_equal(0, connection.size)
    end
  end

  def test_whoever_reads_for_all_may_be_cancelled
    held = Queue.new
    connected(HTTP2Peer.handler { |request| held_answer(request, held) }) do |connection, url|
      Plait.run(on: :fibers) do |scope|
        tasks = Array.new(8) { |i| scope.async { connection.request("GET", "#{url}/#{i}").body } }
        scope.async { wait_until { held.size == 8 } }.value
        tasks.first(4).each(&:cancel)
        scope.async { held.size.times { answer_path(held.pop) } }.value
        assert_equal(%w[/4 /5 /6 /7], tasks.last(4).map(&:value))
      end
    end
  end

  everywhere("threads and fibers share one") do
    held = Queue.new
    connected(HTTP2Peer.handler { |request| held_answer(request, held) }) do |connection, url|
      threads = Array.new(4) { |i| Thread.new { connection.request("GET", "#{url}/#{i}").body } }
      fibers = Thread.new { Plait.map((4..7).to_a, on: :fibers) { |i| connection.request("GET", "#{url}/#{i}").body } }
      wait_until { held.size == 8 }
      connection.request("GET", "#{url}/release")
      assert_equal(%w[/0 /1 /2 /3 /4 /5 /6 /7], threads.map(&:value) + fibers.value)
    end
  end

  # A peer that allows few would refuse the others.
  everywhere("one request waits for nobody, the others until the peer has said its settings") do |mechanism|
    greet, early, peer = slow_to_greet(behind: HTTP2Peer::HEADERS, settings_max_concurrent_streams: 2)
    greet << true
    connected(peer) do |connection, url|
      gets = Array.new(10) { |i| mechanism.beside { connection.request("GET", "#{url}/#{i}").status } }
      assert_equal([200] * 10, gets.map(&:call))
      assert_equal([HTTP2Peer::SETTINGS, 8, HTTP2Peer::HEADERS], early.pop)
    end
  end

  # nginx refuses one that comes before its settings are acknowledged.
  everywhere("a body waits until the peer has said its settings") do |mechanism|
    greet, early, peer = slow_to_greet
    connected(peer) do |connection, url|
      posts = Array.new(3) { |i| mechanism.beside { connection.request("POST", "#{url}/", body: "body #{i}").body } }
      late = rescued { connection.request("POST", "#{url}/", body: "late", timeouts: Timeouts.new(first_byte: 0.1)) }
      assert_match(/did not begin to speak HTTP/, late.message)
      assert_equal([Plait::ReadTimeout, true], [late.class, late.retry_safe?])
      greet << true
      assert_equal(["body 0", "body 1", "body 2"], posts.map(&:call))
      assert_equal([HTTP2Peer::SETTINGS, 8], early.pop)
    end
  end

  # [error code] => what is said, and whether nothing was done
  {
    7 => [/REFUSED_STREAM.*nothing of it was done/, true], 2 => [/INTERNAL_ERROR/, false], 8 => [/CANCEL/, false],
    13 => [/HTTP_1_1_REQUIRED.*without http2: true/, true], 99 => [/\(99\)/, false]
  }.each do |code, (message, safe)|
    everywhere("a stream that is reset with #{code}") do |mechanism|
      peer = HTTP2Peer.handler do |request|
        request.path == "/reset" ? request.peer.reset(request.id, code) : request.answer("fine")
      end
      connected(peer) do |connection, url|
        other = mechanism.beside { connection.request("GET", "#{url}/other").body }
        error = rescued { connection.request("GET", "#{url}/reset") }
        assert_instance_of(Plait::ConnectionClosed, error)
        assert_match(message, error.message)
        assert_equal(safe, error.retry_safe?)
        assert_equal("fine", other.call)
      end
    end
  end

  def test_a_stream_that_is_reset_in_mid_body_is_no_answer
    peer = HTTP2Peer.handler { |request| request.answer("half", last: false) && request.peer.reset(request.id, 0) }
    connected(peer) do |connection, url|
      assert_match(/reset it \(NO_ERROR\)/, assert_raises(Plait::ConnectionClosed) do
        connection.request("GET", "#{url}/")
      end.message)
    end
  end

  # RFC 9113 §8.1
  def test_a_whole_answer_counts_though_the_peer_wants_no_more_of_the_request
    begun = nil
    body = lambda do |request, _bytes|
      next if begun

      begun = true
      request.answer("too large", status: 413)
      request.peer.reset(request.id, 0)
    end
    connected(HTTP2Peer.handler(on_body: body) { |request| request.answer("next") }) do |connection, url|
      response = connection.request("POST", "#{url}/", body: Enumerator.new { |y| loop { y << ("x" * 60_000) } })
      assert_equal([413, "too large"], [response.status, response.body])
      assert_equal("next", connection.request("GET", "#{url}/").body)
    end
  end

  def test_going_away_tells_what_was_not_done
    asked = Queue.new
    connected(HTTP2Peer.handler { |request| asked << request }) do |connection, url|
      threads = Array.new(3) do |i|
        Thread.new { rescued { connection.request("GET", "#{url}/#{i}") } }.tap do
          wait_until do
            asked.size == i + 1
          end
        end
      end
      requests = Array.new(3) { asked.pop }.sort_by(&:id)
      requests.first.peer.go_away(requests[1].id, 11, "calm down")
      last = threads.last.value
      assert_match(/goes away \(ENHANCE_YOUR_CALM: "calm down"\), and nothing of it was done/, last.message)
      assert_predicate(last, :retry_safe?)
      refute_predicate(connection, :usable?)
      requests.first(2).each { |request| request.answer("done") }
      assert_equal(%w[done done], threads.first(2).map { |thread| thread.value.body })
      wait_until { connection.closed? }
    end
  end

  # What a peer answers => what is wrong with it
  {
    "no status" => [[["server", "x"]], /does not begin with :status/], "an odd status" => [[[":status", "abc"]], /./],
    "a low status" => [[[":status", "099"]], /099/], "101" => [[[":status", "101"]], /101, which HTTP.2 does not have/],
    "a line break" => [[[":status", "200"], ["a", "b\r\nc: d"]], /the value "b\\r\\nc: d" of a/],
    "a name in capitals" => [[[":status", "200"], ["Server", "x"]], /Server/],
    "a name with a space" => [[[":status", "200"], ["a b", "x"]], /a field named "a b"/],
    "a field of the connection" => [[[":status", "200"], ["transfer-encoding", "chunked"]], /a field named "transfer-encoding"/],
    "two lengths" => [[[":status", "200"], ["content-length", "1"], ["content-length", "2"]], /Content-Length 1, 2/],
    "a pseudo-header behind" => [[[":status", "200"], ["a", "b"], [":path", "/"]], /pseudo/]
  }.each do |what, (fields, message)|
    define_method("test_an_answer_with_#{what.tr(" ", "_")}_is_an_error") do
      peer = HTTP2Peer.handler { |request| request.stream.send(type: :headers, flags: 5, payload: hpack(fields)) }
      connected(peer) do |connection, url|
        error = assert_raises(Plait::RemoteProtocolError) { connection.request("GET", "#{url}/", timeouts: Timeouts.new(total: 20)) }
        assert_match(message, error.message)
        assert_match(/tcp:/, error.message)
      end
    end
  end

  def test_a_body_that_is_not_as_long_as_it_says
    peer = HTTP2Peer.handler { |request| request.answer("abc", content_length: request.path[1..]) }
    connected(peer) do |connection, url|
      assert_equal("abc", connection.request("GET", "#{url}/3").body)
      assert_match(/3 of 4 bytes/, assert_raises(Plait::TruncatedError) { connection.request("GET", "#{url}/4") }.message)
      assert_raises(Plait::RemoteProtocolError) { connection.request("GET", "#{url}/2") }
    end
  end

  # The time to read it would grow with its square.
  def test_a_head_that_is_one_number_without_an_end
    peer = HTTP2Peer.handler do |request|
      part = "\xff".b * 16_000
      request.peer.raw(HTTP2Peer.frame(1, 0, request.id, part), HTTP2Peer.frame(9, 4, request.id, part))
    end
    connected(peer) do |connection, url|
      error = assert_raises(Plait::RemoteProtocolError) { connection.request("GET", "#{url}/") }
      assert_match(/a number of more than 5 bytes/, error.message)
    end
  end

  def test_limits_are_errors_that_name_them_and_leave_the_connection_alone
    peer = HTTP2Peer.handler do |request|
      case request.path
      when "/body" then request.answer("x" * 2_000)
      when "/head" then request.answer("", long: "y" * 3_000)
      when "/fields" then request.answer("", **(1..20).to_h { |i| [:"f#{i}", i] })
      else request.answer("fine")
      end
    end
    limits = Plait.const_get(:Protocols)::HTTP1::Limits.new(body: 1_000, head: 2_000, headers: 10)
    connected(peer, limits: limits) do |connection, url|
      { "/body" => [:body, 1_000], "/head" => [:head, 2_000], "/fields" => [:headers, 10] }.each do |path, (name, maximum)|
        error = assert_raises(Plait::LimitExceeded) { connection.request("GET", url + path) }
        assert_equal([name, maximum], [error.limit, error.maximum])
        assert_match(/tcp:.*over the limit of #{maximum}: raise it with limits: {#{name}: /, error.message)
      end
      assert_equal("fine", connection.request("GET", "#{url}/").body)
    end
  end

  def test_room_for_a_stream_that_has_ended_is_none_for_the_others
    peer = HTTP2Peer.handler do |request|
      request.answer("body")
      request.peer.raw(HTTP2Peer.frame(8, 0, request.id, [(1 << 31) - 1].pack("N")))
    end
    connected(peer) do |connection, url|
      3.times { assert_equal("body", connection.request("POST", "#{url}/", body: "x").body) }
    end
  end

  def test_trailers_that_were_announced
    { "Checksum" => [%w[checksum abc]], "checksum, expires" => [%w[checksum abc]], "other" => [%w[checksum abc]] }
      .each do |announced, trailers|
        peer = HTTP2Peer.handler do |request|
          request.peer.locked do
            request.stream.headers([%w[:status 200], ["trailer", announced]])
            request.stream.data("body", end_stream: false)
            request.stream.headers(trailers, end_stream: true)
          end
        end
        connected(peer) do |connection, url|
          response = connection.request("GET", "#{url}/")
          assert_equal(["body", announced, trailers], [response.body, response["trailer"], response.trailers])
        end
      end
  end

  def test_trailers_that_do_not_end_the_stream
    peer = HTTP2Peer.handler do |request|
      request.peer.locked do
        request.stream.headers([%w[:status 200], %w[trailer checksum]])
        request.stream.data("body", end_stream: false)
        request.stream.headers([%w[checksum abc]], end_stream: false)
      end
    end
    connected(peer) do |connection, url|
      assert_raises(Plait::RemoteProtocolError) { connection.request("GET", "#{url}/") }
    end
  end

  def test_trailers_and_answers_on_the_way
    peer = HTTP2Peer.handler do |request|
      request.peer.locked do
        request.stream.headers([[":status", "103"], ["link", "x"]])
        request.stream.headers([[":status", "200"]])
        request.stream.data("body", end_stream: false)
        request.stream.headers([%w[checksum abc]], end_stream: true)
      end
    end
    connected(peer) do |connection, url|
      response = connection.request("GET", "#{url}/")
      assert_equal([200, "body", nil], [response.status, response.body, response["link"]])
      assert_equal([%w[checksum abc]], response.trailers)
      assert_operator(response.timings.then { |timings| timings.first_byte + timings.read }, :>, 0)
    end
  end

  {
    "garbage" => "HTTP/1.1 400 Bad Request\r\n\r\n" * 5, "a frame before the settings" => HTTP2Peer.frame(6, 0, 0, "12345678"),
    "a frame that is too large" => HTTP2Peer.frame(4, 0, 0) + HTTP2Peer.frame(0, 0, 1, "x" * 20_000)[0, 99],
    "a body for a stream that is none" => HTTP2Peer.frame(4, 0, 0) + HTTP2Peer.frame(0, 0, 99, "x")
  }.each do |what, bytes|
    everywhere("a peer that sends #{what}") do |mechanism|
      connected(->(socket) { socket.readpartial(100) && socket.write(bytes) && socket.read }) do |connection, url|
        calls = Array.new(3) { mechanism.beside { rescued { connection.request("GET", "#{url}/") } } }
        calls.each { |call| assert_match(/broke HTTP.2/, call.call.message) }
        assert_predicate(connection, :closed?)
      end
    end
  end

  HEAD_OF_ANSWER = HTTP2Peer.frame(HTTP2Peer::HEADERS, 4, 1, HTTP2Peer::STATUS_200)
  PING = HTTP2Peer.frame(6, 0, 0, "12345678")
  private_constant :HEAD_OF_ANSWER, :PING

  # RFC 9113 §10.5
  {
    "pings" => [/keeps us busy/, "", PING],
    "settings" => [/keeps us busy/, "", HTTP2Peer.frame(HTTP2Peer::SETTINGS, 0, 0)],
    "pieces of a body that are empty" => [/keeps us busy/, HEAD_OF_ANSWER, HTTP2Peer.frame(HTTP2Peer::DATA, 0, 1)],
    "trailers that are empty" => [/trailers that do not end/, HEAD_OF_ANSWER, HTTP2Peer.frame(HTTP2Peer::HEADERS, 4, 1)],
    "pieces of a head that are empty" =>
      [/a header block of 1 bytes in 34 frames/, HTTP2Peer.frame(HTTP2Peer::HEADERS, 0, 1, HTTP2Peer::STATUS_200),
       HTTP2Peer.frame(9, 0, 1)],
    "priorities" => [/keeps us busy/, HEAD_OF_ANSWER, HTTP2Peer.frame(HTTP2Peer::DATA, 0, 1, "x"), :priority],
    "pings, and hears none of the answers" =>
      [/keeps us busy/, HEAD_OF_ANSWER, HTTP2Peer.frame(HTTP2Peer::DATA, 0, 1, "x"), *[PING] * 500]
  }.each do |what, (complaint, beginning, *more)|
    define_method(:"test_a_peer_that_sends_nothing_but_#{what.gsub(/\W+/, "_")}") do
      connected(flooding(beginning, more)) do |connection, url|
        error = assert_raises(Plait::RemoteProtocolError) { connection.request("GET", "#{url}/") }
        assert_match(complaint, error.message)
      end
    end
  end

  def test_a_peer_that_hangs_up
    connected(->(socket) { socket.readpartial(100) }) do |connection, url|
      error = assert_raises(Plait::ConnectionClosed) { connection.request("GET", "#{url}/") }
      assert_match(/GET http:.*: (?:tcp:.* closed the connection|the connection to tcp:.* failed)/, error.message)
      refute_predicate(error, :retry_safe?)
      error = assert_raises(Plait::ConnectionClosed) { connection.request("GET", "#{url}/") }
      assert_predicate(error, :retry_safe?)
    end
  end

  everywhere("a streamed body is taken as it comes, and not faster") do
    sent = 0
    peer = HTTP2Peer.handler do |request|
      Thread.new { send_much(request, 8 * MEGABYTE) { |size| sent += size } }
    end
    connected(peer) do |connection, url|
      wire = H2::Wire.new(connection, Plait::HTTP::URL.parse(url).origin)
      response = wire.open("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n", nil, 0, Timeouts.new, nil)
      assert_nil(response.body)
      assert_equal("fine", connection.request("GET", "#{url}/other").body)
      assert_operator(sent, :<=, 2 * MEGABYTE)
      total = 0
      while (piece = wire.read_piece)
        total += piece.bytesize
      end
      assert_equal(8 * MEGABYTE, total)
      assert_nil(wire.read_piece)
      assert_predicate(wire, :reusable?)
    end
  end

  def test_a_streamed_body_may_be_left
    peer = HTTP2Peer.handler { |request| Thread.new { send_much(request, 8 * MEGABYTE) { nil } } }
    connected(peer) do |connection, url|
      wire = H2::Wire.new(connection, Plait::HTTP::URL.parse(url).origin)
      wire.open("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n", nil, 0, Timeouts.new, nil)
      assert(wire.read_piece)
      assert_equal(1, connection.size)
      wire.close
      assert_equal(0, connection.size)
      assert_equal("fine", connection.request("GET", "#{url}/other").body)
    end
  end

  def test_a_body_that_the_peer_does_not_take
    peer = ->(socket) { socket.write(HTTP2Peer.frame(4, 0, 0)) && sleep }
    connected(peer) do |connection, url|
      error = assert_raises(Plait::WriteTimeout) do
        connection.request("POST", "#{url}/", body: "x" * MEGABYTE, timeouts: Timeouts.new(read: 0.2))
      end
      assert_match(/did not take the request in time/, error.message)
    end
  end

  def test_no_stream_in_time
    held = Queue.new
    connected(HTTP2Peer.handler(settings_max_concurrent_streams: 1) { |request| held_answer(request, held) }) do |connection, url|
      connection.request("GET", "#{url}/release")
      first = Thread.new { connection.request("GET", "#{url}/first").body }
      wait_until { held.size == 1 }
      error = assert_raises(Plait::PoolTimeout) { connection.request("GET", "#{url}/second", timeouts: Timeouts.new(total: 0.1)) }
      assert_match(/has no stream free for GET/, error.message)
      assert_predicate(error, :retry_safe?)
      held.pop.answer("now")
      assert_equal("now", first.value)
    end
  end

  everywhere("to close it wakes who waits, and leaves nothing behind") do |mechanism|
    held = Queue.new
    before = Support::Leaks::Holdings.now.things.size
    serving(HTTP2Peer.handler { |request| held << request }) do |port|
      connection = connect(port)
      calls = Array.new(5) { |i| mechanism.beside { rescued { connection.request("GET", "http://127.0.0.1:#{port}/#{i}") } } }
      mechanism.beside { 5.times { held.pop } && connection.close }.call
      errors = calls.map(&:call)
      assert_equal([Plait::ConnectionClosed], errors.map(&:class).uniq)
      assert_match(/was closed on this side/, errors.first.message)
      wait_until { connection.io.closed? }
      assert_predicate(connection, :closed?)
    end
    assert_operator(Support::Leaks::Holdings.now.things.size, :<=, before + 1) # a thread of the offload pool
  end

  def test_leaves_no_thread_fiber_or_descriptor
    nginx do |_, url, server|
      assert_no_leaks(fibers: true) do
        connection = connect_tls(server)
        Array.new(10) { Thread.new { connection.request("GET", "#{url}/echo/") } }.each(&:join)
        Plait.map((1..10).to_a, on: :fibers) { connection.request("GET", "#{url}/echo/").status }
        connection.close
      end
    end
  end

  def test_idle_ones_answer_pings_and_see_the_end_when_they_are_looked_at
    pings = Queue.new
    peer = lambda do |socket|
      socket.write(HTTP2Peer.frame(4, 0, 0))
      pings.pop
      socket.write(HTTP2Peer.frame(6, 0, 0, "12345678"))
      loop { break if socket.readpartial(1000).include?("12345678") }
    end
    connected(peer) do |connection, _|
      refute_predicate(connection, :stale?)
      pings << 1
      wait_until { connection.stale? }
      assert_predicate(connection, :closed?)
    end
  end

  def test_a_fork_does_not_use_it_and_does_not_end_it
    nginx do |connection, url|
      connection.request("GET", "#{url}/echo/")
      reader, writer = IO.pipe
      pid = fork do
        error = rescued { connection.request("GET", "#{url}/echo/") }
        connection.close
        writer.write("#{error.class} #{connection.usable?}")
        exit!(0)
      end
      Process.wait(pid)
      writer.close
      assert_equal("Plait::UsageError false", reader.read)
      assert_equal(200, connection.request("GET", "#{url}/echo/").status)
    ensure
      [reader, writer].each(&:close)
    end
  end

  # @!group What is built on it

  def test_a_wire
    nginx do |connection, url|
      wire = H2::Wire.new(connection, Plait::HTTP::URL.parse(url).origin)
      assert_equal([false, false, true], [wire.sent?, wire.received?, wire.reusable?])
      response = wire.get("#{url}/echo/x#fragment", url.bytesize, "Host: localhost\r\nX-One: 1\r\n", Timeouts.new, nil)
      assert_equal(["/echo/x 1 HTTP/2.0", "#{url}/echo/x#fragment"], [response.body, response.url])
      upload = Plait::HTTP.const_get(:Upload).wrap(["a", "b"].each)
      head = "POST /echo/y HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
      assert_equal("/echo/y  HTTP/2.0", wire.call(head, upload, 0, Timeouts.new, nil).body)
      assert_equal([true, true, true, false], [wire.sent?, wire.received?, wire.reusable?, wire.stale?])
      assert_raises(Plait::UnsupportedError) { wire.detach }
      wire.close
      assert_raises(Plait::ConnectionClosed) { wire.get("#{url}/", url.bytesize, "", nil, nil) }
      assert_predicate(connection, :usable?)
    end
  end

  everywhere("many share what one has connected") do |mechanism|
    nginx do |_, url, server|
      sharing = H2::Sharing.new
      origin = Plait::HTTP::URL.parse(url).origin
      connects = 0
      places = Array.new(20) do
        mechanism.beside do
          sharing.wire(origin) do
            [connect_socket(server), connects += 1]
          end
        end
      end.map(&:call)
      assert_equal([1, 1], [connects, sharing.size])
      bodies = places.map do |wire|
        mechanism.beside do
          wire.get("#{url}/connection/", url.bytesize, "", Timeouts.new, nil).body
        end
      end.map(&:call)
      assert_equal(1, bodies.uniq.size)
      places.each(&:close)
      assert_equal(0, sharing.size)
      assert_predicate(places.first.connection, :closed?)
    end
  end

  def test_one_that_went_away_is_replaced
    nginx("keepalive_requests 3;") do |_, url, server|
      sharing = H2::Sharing.new
      origin = Plait::HTTP::URL.parse(url).origin
      connections = Array.new(10) do
        wire = sharing.wire(origin) { [connect_socket(server), nil] }
        wire.get("#{url}/connection/", url.bytesize, "", Timeouts.new, nil).body.split.last.tap do
          wait_until do
            wire.stale? || true
          end
        end
      end
      assert_operator(connections.uniq.size, :>=, 3)
      sharing.close
      assert_equal(0, sharing.size)
    end
  end

  def test_a_peer_that_speaks_http_1_only
    server = Io::TLS::Server.new(**LEAF.to_h, alpn: %w[http/1.1])
    serving(->(socket) { server.handshake(socket).read }) do |port|
      sharing = H2::Sharing.new
      origin = Plait::HTTP::URL.parse("https://localhost:#{port}/").origin
      sockets = Array.new(3) { sharing.wire(origin) { [connector.connect(origin.endpoint), nil] }.first }
      assert_equal(["http/1.1"], sockets.map(&:alpn_protocol).uniq)
      sockets.each(&:close)
    end
  end

  def test_an_interrupt_as_one_begins_to_connect_shuts_nobody_out
    sharing = H2::Sharing.new
    origin = Plait::HTTP::URL.parse("https://a.test/").origin
    interrupt = TracePoint.new(:return) { |point| raise KeyError if point.method_id == :find }
    assert_raises(KeyError) { interrupt.enable { sharing.wire(origin) { flunk } } }
    assert_raises(IndexError) { sharing.wire(origin, deadline: within(1)) { raise IndexError } }
  end

  def test_one_who_fails_to_connect_lets_the_next_try
    sharing = H2::Sharing.new
    origin = Plait::HTTP::URL.parse("https://a.test/").origin
    entered = Queue.new
    go_on = Queue.new
    first = Thread.new { rescued { sharing.wire(origin) { entered.push(1) && go_on.pop && raise(Plait::ConnectError, "no") } } }
    entered.pop
    assert_raises(Plait::ConnectTimeout) { sharing.wire(origin, deadline: within(0.05)) { flunk } }
    second = Thread.new { rescued { sharing.wire(origin) { raise(Plait::ConnectError, "no again") } } }
    go_on << 1
    assert_equal(["no", "no again"], [first, second].map { |thread| thread.value.message })
  end

  everywhere("a client asks many at once") do
    nginx do |_, url|
      client = Plait::HTTP::Client.new(http2: true, tls: { cert_store: CA.store })
      responses = client.fan_out((0...100).map { |i| "#{url}/connection/#{i}" }, limit: 50)
      assert_equal(["2"], responses.map(&:version).uniq)
      assert_equal((0...100).map { |i| "/connection/#{i}" }, responses.map { |response| response.body.split.first })
      assert_equal(1, responses.map { |response| response.body.split.last }.uniq.size)
      assert_equal(3_000_000, client.get("#{url}/large").body.bytesize)
      assert_equal(3_000_000, client.get("#{url}/large") { |response| response.each_piece.sum(&:bytesize) })
    ensure
      client&.close
    end
  end

  def test_a_client_goes_on_when_the_peer_goes_away
    nginx("keepalive_requests 5;") do |_, url|
      client = Plait::HTTP::Client.new(http2: true, tls: { cert_store: CA.store })
      connections = Array.new(40) { client.get("#{url}/connection/").body.split.last }
      assert_operator(connections.uniq.size, :>=, 8)
    ensure
      client&.close
    end
  end

  def test_a_client_leaves_nothing_behind
    nginx do |_, url|
      assert_no_leaks(fibers: true) do
        client = Plait::HTTP::Client.new(http2: true, tls: { cert_store: CA.store })
        Array.new(5) { Thread.new { client.get("#{url}/echo/") } }.each(&:join)
        client.fan_out(Array.new(20) { |i| "#{url}/echo/#{i}" })
        client.close
      end
    end
  end

  def test_connect_is_not_for_it
    assert_raises(Plait::UnsupportedError) { H2::RequestFields.of("CONNECT", "http", "a.test", "a.test:80", []) }
  end

  private

  def connector = Io::Connector.new(tls: Io::TLS::Client.new(cert_store: CA.store, alpn: Protocol::ALPN))

  # An nginx with HTTP/2, a connection to it, and its URL.
  def nginx(directives = "", http: "")
    Dir.mktmpdir("plait-test-") do |folder|
      port = Support::Server.free_port
      Support::NginxServer.start(server: configuration(folder, port) + directives, http: http) do |server|
        server.define_singleton_method(:secure_port) { port }
        File.write(File.join(server.root, "large"), "x" * 3_000_000)
        connection = connect_tls(server)
        yield(connection, "https://localhost:#{port}", server)
      ensure
        connection&.close
      end
    end
  end

  def configuration(folder, port)
    FileUtils.chmod(0o755, folder)
    File.write("#{folder}/certificate", LEAF.certificate.to_pem)
    File.write("#{folder}/key", LEAF.key.to_pem)
    <<~CONF
      listen 127.0.0.1:#{port} ssl http2;
      ssl_certificate #{folder}/certificate;
      ssl_certificate_key #{folder}/key;
      location /echo/ { default_type text/plain; return 200 "$request_uri $http_x_one $server_protocol"; }
      location /connection/ { return 200 "$request_uri $connection"; }
      location /empty { return 204; }
    CONF
  end

  def connect_socket(server) = connector.connect(Io::Endpoint.tls("localhost", server.secure_port), deadline: within(10))

  def connect_tls(server)
    socket = connect_socket(server)
    assert(Protocol.spoken?(socket))
    Asking.new(socket, endpoint: Io::Endpoint.tls("localhost", server.secure_port))
  end

  def connect(port, **options)
    Asking.new(Socket.tcp("127.0.0.1", port), endpoint: Io::Endpoint.tcp("127.0.0.1", port), **options)
  end

  # A connection to a peer of the test's own.
  def connected(peer, **options)
    serving(peer) do |port|
      connection = connect(port, **options)
      yield(connection, "http://127.0.0.1:#{port}")
    ensure
      connection&.close
      wait_until { connection.io.closed? }
    end
  end

  # @return [Array(Thread::Queue, Thread::Queue, #call)] by which it is told to go on, what it then tells: the types of the frames
  #   that had come before; and a peer that answers with what it was sent
  def slow_to_greet(behind: nil, **settings)
    greet = Thread::Queue.new
    early = Thread::Queue.new
    peer = HTTP2Peer.handler(**settings) { |request| request.answer(request.body) }
    slow = lambda do |socket|
      greet.pop
      behind && wait_until { sent_to(socket).include?(behind) } && sleep(0.1) # in which others could come
      early << sent_to(socket)
      peer.call(socket)
    end
    [greet, early, slow]
  end

  # @return [Array<Integer>] the types of the frames that have come, and are not read
  def sent_to(socket)
    bytes = socket.recv(65_536, Socket::MSG_PEEK).delete_prefix("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    types = []
    until bytes.bytesize < 9
      high, low, type = bytes.unpack("CnC")
      types << type
      bytes = bytes.byteslice((9 + (high << 16) + low)..).to_s
    end
    types
  end

  # @return [Object, Exception]
  def rescued
    yield
  rescue Plait::Error => e
    e
  end

  # Keeps what is asked until /release is.
  def held_answer(request, held)
    return request.answer(request.path) if request.path == "/late"
    return held << request unless request.path == "/release"

    request.answer("released")
    held.size.times { answer_path(held.pop) }
  end

  def answer_path(request)
    request.answer(request.path)
  rescue HTTP2::Error::Error
    nil # it was reset
  end

  # @return [Array<String>] an answer on a stream that nobody waits for
  def late_frames(id)
    [HTTP2Peer.frame(HTTP2Peer::HEADERS, 4, id, HTTP2Peer::STATUS_200), HTTP2Peer.frame(HTTP2Peer::DATA, 0, id, "x" * 1000),
     HTTP2Peer.frame(HTTP2Peer::DATA, 1, id, "end")].join
  end

  # Sends as fast as the windows allow, and tells how much it could.
  def send_much(request, size)
    return request.answer("fine") if request.path == "/other"

    request.answer(last: false)
    while size.positive?
      room = request.peer.locked { [request.stream.remote_window, size, 16_384].min }
      next sleep(0.001) unless room.positive?

      size -= room
      request.peer.locked { request.stream.data("x" * room, end_stream: size.zero?) }
      yield room
    end
  rescue HTTP2::Error::Error, IOError, SystemCallError
    nil # it was left
  end

  # A peer that answers nothing, and sends the same until nobody takes it any more.
  def flooding(beginning, frames)
    lambda do |socket|
      socket.readpartial(100)
      socket.write(HTTP2Peer.frame(HTTP2Peer::SETTINGS, 0, 0) + beginning)
      (1..).each do |number|
        socket.write(frames.map { |frame| frame == :priority ? priority((2 * number) + 1) : frame }.join)
      end
    rescue SystemCallError
      nil # it is given up
    end
  end

  def priority(id) = HTTP2Peer.frame(2, 0, id, [0, 16].pack("NC"))

  # HPACK without a table: each field as it is.
  def hpack(fields)
    fields.map { |name, value| "\x00".b + [name, value].map { |text| [text.bytesize].pack("C") + text.b }.join }.join
  end

  # Answers each request with the digest of its body.
  def digest_origin(&block)
    serving(lambda do |socket|
      head = socket.gets("\r\n\r\n")
      body = head[/^content-length: (\d+)/i, 1] ? socket.read(::Regexp.last_match(1).to_i) : read_chunked(socket)
      text = Digest::SHA256.hexdigest(body)
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: #{text.bytesize}\r\nConnection: close\r\n\r\n#{text}")
    end, &block)
  end

  def read_chunked(socket)
    body = String.new
    while (size = socket.gets.hex).positive?
      body << socket.read(size)
      socket.read(2)
    end
    body
  end

  # Begins answers, and does not end them.
  def stalling_origin
    asked = Queue.new
    serving(lambda do |socket|
      socket.gets("\r\n\r\n")
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbegun")
      asked << 1
      socket.read
    end) { |port| yield(port, asked) }
  end
end
