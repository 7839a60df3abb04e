# frozen_string_literal: true

require_relative "scripted_origin"
require "stringio"

# When a request is sent again: only where that can't do anything twice, within the time there is.
class HTTPRetriesTest < Minitest::Test
  include ClientCases

  HTTP = Plait::HTTP
  Retries = HTTP::Retries
  # Pauses so short that no test waits for them.
  QUICK = { base: 0.001, max: 0.002 }.freeze

  def quick(count, **more) = { count: count, **QUICK, **more }

  # A route that fails so often, then answers.
  def failing(times, &failure)
    left = times
    lambda do |io, request|
      next failure.call(io, request) if (left -= 1) >= 0

      io.write(answer("fine at last"))
    end
  end

  def hang_up = ->(_io, _request) { false }

  def unavailable(*fields) = ->(io, _request) { io.write(answer("later", status: "503 Service Unavailable", fields: fields)) }

  def test_a_post_is_sent_again_where_the_caller_says_so
    [unavailable, hang_up].each do |failure|
      with_origin("/x" => failing(2, &failure), retries: quick(2, methods: [:post])) do |client, origin|
        assert_equal("fine at last", client.post(origin.url("/x"), json: { id: 1 }).body)
        assert_equal(['{"id":1}'] * 3, origin.requests.map(&:body))
        assert_idle(client)
      end
    end
    with_origin("/x" => failing(1, &unavailable), retries: quick(2, methods: %w[post])) do |client, origin|
      assert_equal(503, client.patch(origin.url("/x"), body: "1").status, "another method")
    end
    with_origin("/x" => failing(1, &unavailable), retries: quick(2)) do |client, origin|
      assert_equal(503, client.post(origin.url("/x"), body: "1").status)
      again = { retries: quick(1, methods: ["POST"]) }
      origin.routes["/x"] = failing(1, &unavailable)
      assert_equal(200, client.post(origin.url("/x"), body: "1", **again).status, "for one call")
    end
    assert_raises(Plait::UsageError) { Retries.new(methods: :post) }
  end

  # ---- stale connections ----

  def test_a_connection_that_the_server_closed_is_replaced
    with_origin(pool: { idle_timeout: 300 }) do |client, origin|
      client.get(origin.url("/1"))
      origin.hang_up
      assert_equal("GET /2 ", client.get(origin.url("/2")).body)
      assert_equal("POST /3 x", client.post(origin.url("/3"), body: "x").body)
      assert_idle(client)
    end
  end

  # It is closed when the next request comes, not before: no look at the connection tells.
  def test_one_that_is_closed_under_an_idempotent_request_is_replaced_at_once
    seen = Hash.new(0)
    closing = lambda do |io, request|
      next false if (seen[request.connection] += 1) == 2

      io.write(answer("#{request.verb} #{request.body}"))
    end
    with_origin("/x" => closing) do |client, origin|
      assert_equal("GET ", client.get(origin.url("/x")).body)
      assert_equal("GET ", client.get(origin.url("/x")).body, "the short way")
      assert_equal("PUT y", client.put(origin.url("/x"), body: "y").body, "the long way")
      assert_equal(3, origin.connections)
      assert_equal(5, origin.requests.size)
    end
  end

  # Wherever the connection is: the pool, the cache before it, the slot of a fan-out.
  def test_wherever_it_was_kept
    seen = Hash.new(0)
    closing = lambda do |io, request|
      next false if (seen[request.connection] += 1) > 40

      io.write(answer("fine"))
    end
    with_origin("/x" => closing) do |client, origin|
      150.times { assert_equal("fine", client.get(origin.url("/x")).body) }
      assert_equal(150, client.fan_out([origin.url("/x")] * 150, limit: 2).size)
      assert_equal(150, client.fan_out([origin.url("/x")] * 150, limit: 2, on: :threads).size)
      assert_idle(client)
    end
  end

  def test_but_not_under_one_that_would_be_done_twice
    seen = Hash.new(0)
    closing = lambda do |io, request|
      next false if (seen[request.connection] += 1) == 2

      io.write(answer("fine"))
    end
    with_origin("/x" => closing, retries: quick(3)) do |client, origin|
      client.get(origin.url("/x"))
      error = assert_raises(Plait::ConnectionClosed) { client.post(origin.url("/x"), body: "order") }
      refute(error.retry_safe?)
      assert_equal(2, origin.requests.size)
      client.get(origin.url("/x"))
      assert_raises(Plait::ConnectionClosed) { client.put(origin.url("/x"), body: Enumerator.new { |sink| sink << "x" }) }
      assert_equal(4, origin.requests.size)
    end
  end

  def test_nor_a_second_time
    first = true
    closing = lambda do |io, _request|
      next false unless first

      first = false
      io.write(answer("fine"))
    end
    with_origin("/x" => closing) do |client, origin|
      client.get(origin.url("/x"))
      assert_raises(Plait::ConnectionClosed) { client.get(origin.url("/x")) }
      assert_equal(3, origin.requests.size, "the first, the one on the stale connection, the one on the new one")
    end
  end

  # Where one that was kept is stale the next one may be, too.
  def test_but_on_a_new_connection
    seen = Hash.new(0)
    both = Queue.new
    closing = lambda do |io, request|
      next false if (seen[request.connection] += 1) == 2

      both << true
      sleep(0.001) until both.size >= 2
      io.write(answer("fine"))
    end
    with_origin("/x" => closing) do |client, origin|
      Plait.map([1, 2], on: :threads) { client.get(origin.url("/x")) }
      assert_equal("fine", client.get(origin.url("/x")).body)
      assert_equal([3, 4], [origin.connections, origin.requests.size])
    end
  end

  def test_what_happened_to_a_stale_one_is_not_counted
    answers = ["fine", nil, nil, "fine at last"]
    with_origin("/x" => lambda { |io, _|
      (text = answers.shift) ? io.write(answer(text)) : false
    }, retries: quick(1)) do |client, origin|
      client.get(origin.url("/x"))
      assert_equal("fine at last", client.get(origin.url("/x")).body)
    end
  end

  def test_a_reset_in_the_middle_of_an_answer_makes_it_no_stale_one
    seen = 0
    resetting = lambda do |io, _request|
      next io.write(answer("fine")) if (seen += 1) == 1

      io.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
      sleep(0.05) # for it to be read before it is reset
      io.setsockopt(Socket::SOL_SOCKET, Socket::SO_LINGER, [1, 0].pack("ii"))
      false
    end
    with_origin("/x" => resetting) do |client, origin|
      client.get(origin.url("/x"))
      assert_raises(Plait::ConnectionClosed) { client.get(origin.url("/x")) }
      assert_equal(2, origin.requests.size)
    end
  end

  def test_a_new_connection_that_is_closed_is_no_stale_one
    with_origin("/x" => failing(1, &hang_up)) do |client, origin|
      assert_raises(Plait::ConnectionClosed) { client.get(origin.url("/x")) }
      assert_equal(1, origin.requests.size)
    end
  end

  def test_part_of_an_answer_makes_it_no_stale_one
    seen = 0
    partly = lambda do |io, _request|
      next io.write(answer("fine")) if (seen += 1) == 1

      io.write("HTTP/1.1 200")
      false
    end
    with_origin("/x" => partly) do |client, origin|
      client.get(origin.url("/x"))
      assert_raises(Plait::TruncatedError, Plait::ConnectionClosed) { client.get(origin.url("/x")) }
      assert_equal(2, origin.requests.size)
    end
  end

  # ---- retries ----

  def test_none_unless_asked_for
    with_origin("/x" => unavailable) do |client, origin|
      assert_equal(503, client.get(origin.url("/x")).status)
      assert_equal(1, origin.requests.size)
    end
  end

  def test_a_coded_body_that_is_cut_is_asked_for_again
    zipped = Zlib.gzip("all of it")
    bodies = [zipped[0...-4], "no gzip", zipped]
    coded = ->(io, _request) { io.write(answer(bodies.shift || zipped, fields: ["Content-Encoding: gzip"])) }
    with_origin("/x" => coded, retries: { count: 2, base: 0.001 }) do |client, origin|
      assert_equal(["all of it", 3], [client.get(origin.url("/x")).body, origin.count("/x")])
      bodies = [zipped[0...-4]]
      assert_equal(["all of it"], client.fan_out([origin.url("/x")]).map(&:body))
      bodies = [zipped[0...-4]]
      error = assert_raises(Plait::TruncatedError) { client.post(origin.url("/x"), body: "twice?") }
      assert_includes(error.message, "POST #{origin.url("/x")}")
      bodies = [zipped[0...-4]]
      assert_raises(Plait::TruncatedError) { client.get(origin.url("/x"), retries: 0) }
    end
  end

  def test_a_status_that_says_later
    with_origin("/x" => failing(2, &unavailable), retries: quick(2)) do |client, origin|
      assert_equal("fine at last", client.get(origin.url("/x")).body)
      assert_equal(3, origin.requests.size)
    end
  end

  def test_each_hop_has_its_own
    answers = [answer(status: "503 Later"), answer(status: "302 Found", fields: ["Location: /b"])]
    with_origin("/a" => lambda { |io, _|
      io.write(answers.shift)
    }, "/b" => failing(1, &unavailable), retries: quick(1)) do |client, origin|
      assert_equal("fine at last", client.get(origin.url("/a")).body)
      assert_equal(%w[/a /a /b /b], origin.requests.map(&:path))
    end
  end

  def test_the_last_answer_is_given_out
    with_origin("/x" => failing(9, &unavailable), retries: quick(2)) do |client, origin|
      assert_equal([503, "later"], client.get(origin.url("/x")).then { |response| [response.status, response.body] })
      assert_equal("later", client.get(origin.url("/x")) { |response| response.each_piece.to_a.join })
      assert_equal(6, origin.requests.size)
    end
  end

  def test_other_statuses_and_other_methods_are_final
    with_origin("/500" => always("", status: "500 Oops"), "/503" => unavailable, retries: quick(3)) do |client, origin|
      assert_equal(500, client.get(origin.url("/500")).status)
      assert_equal(503, client.post(origin.url("/503"), body: "order").status)
      assert_equal(2, origin.requests.size)
      assert_equal(500, client.get(origin.url("/500"), retries: quick(2, statuses: [500])).status)
      assert_equal(5, origin.requests.size)
    end
  end

  def test_a_connection_that_breaks
    with_origin("/x" => failing(2, &hang_up), retries: quick(2)) do |client, origin|
      assert_equal("fine at last", client.get(origin.url("/x")).body)
      assert_equal(3, origin.connections)
      assert_idle(client)
    end
  end

  def test_an_answer_that_is_cut_off
    cut = lambda do |io, _request|
      io.write(answer("half", length: 8))
      false
    end
    with_origin("/x" => failing(1, &cut), retries: quick(1)) do |client, origin|
      assert_equal("fine at last", client.get(origin.url("/x")).body)
    end
  end

  def test_what_is_not_idempotent_is_sent_again_only_if_nothing_was_sent
    with_origin("/x" => failing(1, &hang_up), retries: quick(2)) do |client, origin|
      error = assert_raises(Plait::ConnectionClosed) { client.post(origin.url("/x"), body: "order") }
      assert_match(/POST/, error.message)
      assert_equal(1, origin.requests.size)
    end
    refused = Refusing.new(2)
    HTTP::Client.open(retries: quick(2), connector: { resolver: refused }, proxy: false) do |client|
      ScriptedOrigin.open do |origin|
        refused.port = origin.port
        assert_equal("POST /x order", client.post("http://name.test/x", body: "order").body)
      end
    end
  end

  # Names that lead nowhere so often, then to a port.
  class Refusing
    attr_writer :port

    def initialize(times) = @left = times

    def resolve(*, **) = [Addrinfo.tcp("127.0.0.1", (@left -= 1) >= 0 ? 1 : @port)]
  end

  def test_the_error_says_how_often_it_was_tried
    error = assert_raises(Plait::ConnectError) { HTTP.get("http://127.0.0.1:1/", retries: quick(2)) }
    assert_match(%r{GET http://127.0.0.1:1/, tried 3 times}, error.message)
  end

  def test_bodies_are_sent_again_from_where_they_began
    with_origin("/x" => failing(2, &hang_up), retries: quick(3)) do |client, origin|
      client.put(origin.url("/x"), body: StringIO.new("whole"))
      assert_equal(%w[whole whole whole], origin.requests.map(&:body))
    end
  end

  def test_what_no_second_attempt_mends
    with_origin("/x" => always("x" * 1_000), max_body: 100, retries: quick(3)) do |client, origin|
      assert_raises(Plait::LimitExceeded) { client.get(origin.url("/x")) }
      assert_equal(1, origin.requests.size)
    end
  end

  # ---- time ----

  def test_retry_after_is_honoured
    with_origin("/x" => failing(1, &unavailable("Retry-After: 1")), retries: quick(1)) do |client, origin|
      seconds = stopwatch { assert_equal("fine at last", client.get(origin.url("/x")).body) }
      assert_operator(seconds, :>=, 1)
    end
  end

  def test_a_retry_after_that_asks_for_too_long_is_final
    with_origin("/x" => unavailable("Retry-After: 60"), retries: quick(3, retry_after: 5)) do |client, origin|
      assert_equal(503, client.get(origin.url("/x")).status)
      assert_equal(1, origin.requests.size)
    end
  end

  def test_no_retry_goes_past_the_deadline
    slow = { count: 100, base: 0.01, factor: 10_000, max: 100, jitter: 0 } # the second pause is longer than the time
    with_origin("/x" => unavailable, "/hang" => hang_up, retries: slow, timeout: 60) do |client, origin|
      seconds = stopwatch do
        assert_equal(503, client.get(origin.url("/x")).status)
        assert_raises(Plait::ConnectionClosed) { client.get(origin.url("/hang")) }
      end
      assert_operator(seconds, :<, 50)
      assert_equal([2, 3], %w[/x /hang].map { |path| origin.count(path) }, "one more: a kept connection was closed")
    end
  end

  # ---- the policy by itself ----

  Message = Struct.new(:repeatable?, :replayable?)

  def test_what_was_refused_unseen_goes_again_if_its_body_can
    refused = Plait::ConnectionClosed.new("REFUSED_STREAM", retry_safe: true)
    attempts = lambda do |sending|
      HTTP.const_get(:Exchange)::Attempts.new(Retries.new(**quick(1)), nil).tap do |made|
        made.begin
        made.sending if sending
      end
    end
    assert(attempts[true].again?(refused, Message.new(false, true)))
    refute(attempts[true].again?(refused, Message.new(false, false)))
    assert(attempts[false].again?(refused, Message.new(false, false)), "nobody has touched the body")
  end

  def test_pauses_grow_and_are_bounded
    retries = Retries.new(base: 1, factor: 2, max: 5, jitter: 0)
    assert_equal([1, 2, 4, 5, 5], (1..5).map { |attempt| retries.pause(attempt) })
    spread = Array.new(100) { Retries.new(base: 1, jitter: 0.5).pause(1) }
    assert(spread.all? { |pause| pause.between?(0.5, 1) })
    assert_operator(spread.uniq.size, :>, 50)
  end

  def test_retry_after_is_seconds_or_a_date
    retries = Retries.new(count: 1, base: 0, jitter: 0)
    after = lambda do |value|
      retries.pause_after(HTTP::Response.build(status: 503, headers: { "Retry-After" => value }), 1)
    end
    assert_equal(7, after["7"])
    assert_in_delta(20, after[(Time.now.utc + 20).strftime("%a, %d %b %Y %H:%M:%S GMT")], 15)
    assert_equal(0, after["Sun, 06 Nov 1994 08:49:37 GMT"])
    assert_equal(0, after["soon"])
    assert_equal(0, after["Sun, 99 Nov 1994 08:49:37 GMT"])
    assert_nil(after["31"])
    assert_nil(after["9" * 1000])
  end

  def test_its_forms
    assert_equal(0, Retries.from(nil).count)
    assert_equal(3, Retries.from(3).count)
    assert_equal(2, Retries.from(count: 2, base: 1).count)
    [{ coutn: 1 }, "x", -1].each { |spec| assert_raises(Plait::UsageError) { Retries.from(spec) } }
    { base: -1, factor: "x", max: nil, jitter: 5, statuses: 503, retry_after: Float::NAN }.each do |name, value|
      error = assert_raises(Plait::UsageError) { Retries.from(count: 1, name => value) }
      assert_match(/retries: #{name} must be/, error.message)
    end
  end
end
