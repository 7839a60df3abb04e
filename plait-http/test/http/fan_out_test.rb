# frozen_string_literal: true

require_relative "scripted_origin"
require "support/interrupts"
require "support/nginx_server"
require "support/patience"

# Many requests at once: the right answers, so many in flight and no more, and nothing left behind however it ends.
class HTTPFanOutTest < Minitest::Test
  include ClientCases
  include Support::Interrupts

  HTTP = Plait::HTTP
  FanOut = HTTP.const_get(:FanOut)
  MECHANISMS = RUBY_ENGINE == "ruby" ? [nil, :fibers, :threads, :hybrid, :sequence, :processes] : [:threads, :sequence]

  # Some tests interrupt anywhere, each hundreds of times.
  def hard_timeout = 300

  # Answers when it is told to, and knows how many wait.
  class Gate
    def initialize
      @lock = Mutex.new
      @changed = ConditionVariable.new
      @waiting = Hash.new(0)
      @peaks = Hash.new(0)
      @open = false
    end

    # A route.
    def call(io, request)
      pass(request.query[/\w+/])
      io.write(ScriptedOrigin.answer(request.query))
    end

    def open
      @lock.synchronize do
        @open = true
        @changed.broadcast
      end
    end

    def waiting = @lock.synchronize { @waiting.values.sum }

    # The most that waited at once.
    def peak(key) = @lock.synchronize { @peaks[key] }

    private

    def pass(key)
      @lock.synchronize do
        @waiting[key] += 1
        @peaks[key] = [@peaks[key], @waiting[key]].max
        @changed.wait(@lock) until @open
        @waiting[key] -= 1
      end
    end
  end

  def urls(origin, numbers, path = "/x") = numbers.map { |number| origin.url("#{path}?#{number}") }

  def text(number) = "GET /x?#{number} "

  def asked(response) = "#{response.request.method} #{response.request.url}"

  # ---- answers ----

  MECHANISMS.each do |on|
    define_method("test_answers_in_the_order_of_the_requests_#{on || "by itself"}".tr(" ", "_")) do
      with_origin do |client, origin|
        responses = client.fan_out(urls(origin, 1..40), limit: 4, on: on)
        assert_equal((1..40).map { |number| text(number) }, responses.map(&:body))
        assert_equal((0..39).to_a, responses.map(&:index))
        assert_equal(urls(origin, 1..40).map { |url| "GET #{url}" }, responses.map { |response| asked(response) })
        assert_idle(client)
      end
    end

    define_method("test_each_response_tells_what_was_asked_#{on || "by itself"}".tr(" ", "_")) do
      with_origin("/from" => redirect("/to", status: "303 See Other")) do |client, origin|
        requests = [origin.url("/a"), { url: origin.url("/b"), method: :put, body: "x" },
                    { url: origin.url("/from"), method: :post, form: { a: 1 } }]
        assert_equal(["GET #{origin.url("/a")}", "PUT #{origin.url("/b")}", "GET #{origin.url("/to")}"],
                     client.fan_out(requests, on: on).map { |response| asked(response) })
      end
    end

    define_method("test_a_block_is_given_each_response_#{on || "by itself"}".tr(" ", "_")) do
      with_origin do |client, origin|
        main = [Thread.current, Process.pid]
        bodies = {}
        result = client.fan_out(urls(origin, 1..40), limit: 4, on: on) do |response|
          assert_equal(main, [Thread.current, Process.pid])
          bodies[response.index] = response.body
        end
        assert_nil(result)
        assert_equal((0..39).to_h { |index| [index, text(index + 1)] }, bodies)
      end
    end

    define_method("test_the_first_failure_is_raised_#{on || "by itself"}".tr(" ", "_")) do
      with_origin do |client, origin|
        requests = [*urls(origin, 1..5), "http://127.0.0.1:1/nobody", *urls(origin, 6..10)]
        error = assert_raises(Plait::ConnectError) { client.fan_out(requests, limit: 3, on: on) }
        assert_kind_of(Plait::Failure, error)
        assert_equal([5, "http://127.0.0.1:1/nobody"], [error.index, error.item])
        assert_idle(client)
      end
    end

    define_method("test_failures_are_collected_or_skipped_#{on || "by itself"}".tr(" ", "_")) do
      with_origin do |client, origin|
        requests = [origin.url("/x?1"), "http://127.0.0.1:1/nobody", "no url", origin.url("/x?2")]
        outcomes = client.fan_out(requests, on: on, on_error: :collect)
        assert_equal([true, false, false, true], outcomes.map(&:ok?))
        assert_equal([0, 1, 2, 3], outcomes.map(&:index))
        assert_equal(requests, outcomes.map(&:item))
        assert_equal([Plait::ConnectError, Plait::UsageError], outcomes.filter_map { |outcome| outcome.error&.class })
        assert_equal([text(1), text(2)], client.fan_out(requests, on: on, on_error: :skip).map(&:body))
        seen = []
        client.fan_out(requests, on: on, on_error: :skip) { |response| seen << response.index }
        assert_equal([0, 3], seen.sort)
      end
    end
  end

  def test_each_kind_of_request
    with_origin do |client, origin|
      requests = [origin.url("/s"), URI(origin.url("/u")), HTTP::Request.new(:put, origin.url("/r"), body: "b"),
                  { url: origin.url("/h"), method: :post, json: [1] }]
      assert_equal(["GET /s ", "GET /u ", "PUT /r b", "POST /h [1]"], client.fan_out(requests).map(&:body))
      HTTP::Client.open(base: origin.url("/api/"), **PROXY) do |api|
        assert_equal(["GET /api/1 ", "GET /2 "], api.fan_out(%w[1 /2]).map(&:body))
      end
    end
  end

  def test_redirects_retries_codings_and_cookies_are_as_in_a_call
    later = [true]
    routes = {
      "/from" => redirect("/x?to"), "/zip" => always(Zlib.gzip("zipped"), fields: ["Content-Encoding: gzip"]),
      "/later" => ->(io, _) { io.write(later.pop ? answer(status: "503 Later") : answer("now")) },
      "/cookie" => ->(io, request) { io.write(answer(request["cookie"].to_s, fields: ["Set-Cookie: a=1"])) }
    }
    with_origin(**routes, retries: { count: 1, base: 0.001 }) do |client, origin|
      paths = %w[/from /zip /later]
      assert_equal([text("to"), "zipped", "now"], client.fan_out(paths.map { |path| origin.url(path) }).map(&:body))
    end
    with_origin(**routes, cookies: true) do |client, origin|
      assert_equal(["", "a=1"], client.fan_out([origin.url("/cookie")] * 2, limit: 1).map(&:body))
    end
  end

  # What comes whole and plain at once, and what does not; and servers that close after an answer, told or not.
  def test_answers_of_every_kind_at_once
    chunks = ->(text) { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n#{text.bytesize.to_s(16)}\r\n#{text}\r\n0\r\n\r\n" }
    kinds = {
      "/long" => ->(io, request) { io.write(answer(request.query * 20_000)) },
      "/zip" => ->(io, request) { io.write(answer(Zlib.gzip(request.query), fields: ["Content-Encoding: gzip"])) },
      "/chunks" => ->(io, request) { io.write(chunks.call(request.query)) },
      "/from" => ->(io, request) { io.write(answer(status: "302 Found", fields: ["Location: /x?#{request.query}"])) },
      "/last" => ->(io, request) { io.write(answer(request.query, fields: ["Connection: close"])) && false },
      "/bye" => ->(io, request) { io.write(answer(request.query)) && false },
      "/slow" => ->(io, request) { answer(request.query).each_char { |char| io.write(char) } }
    }
    with_origin(**kinds) do |client, origin|
      paths = Array.new(400) { |number| [*kinds.keys, "/x"][number % 8] }
      expected = paths.each_with_index.map do |path, number|
        { "/long" => number.to_s * 20_000, "/from" => text(number), "/x" => text(number) }.fetch(path, number.to_s)
      end
      requests = paths.each_with_index.map { |path, number| origin.url("#{path}?#{number}") }.shuffle(random: Random.new(5))
      numbers = requests.map { |url| url[/\d+\z/].to_i }
      runs = [-> { client.fan_out(requests, limit: 16) }, -> { Plait.run(on: :fibers) { client.fan_out(requests, limit: 16) } }]
      runs.each { |run| assert_equal(expected.values_at(*numbers).map(&:hash), run.call.map { |response| response.body.hash }) }
      assert_idle(client)
    end
  end

  def test_the_module_can_do_it_too
    ScriptedOrigin.open do |origin|
      assert_equal([text(1), text(2)], HTTP.fan_out(urls(origin, 1..2)).map(&:body))
      assert_equal([text(1)], HTTP.fan_out(%w[/x?1], base: origin.url).map(&:body))
      HTTP.fan_out(urls(origin, 1..1), headers: { "X-Mine" => "yes" })
      assert_equal("yes", origin.requests.last["x-mine"])
    end
  end

  def test_nothing_to_do
    with_origin do |client, _origin|
      assert_empty(client.fan_out([]))
      assert_empty(client.fan_out([].lazy))
      assert_nil(client.fan_out([]) { flunk })
    end
  end

  # ---- so many at once ----

  def test_so_many_are_in_flight
    gate = Gate.new
    with_origin("/gate" => gate) do |client, origin|
      opener = Thread.new { wait_until(what: "32 in flight") { gate.waiting == 32 } && gate.open }
      client.fan_out(urls(origin, ["x"] * 100, "/gate"), limit: 32)
      opener.join
      assert_equal(32, gate.peak("x"))
      assert_equal(32, origin.connections)
    end
  end

  def test_requests_that_wait_have_no_fiber_each
    skip("is so on Linux, in C") unless FanOut::Waiter.possible?
    gate = Gate.new
    with_origin("/gate" => gate) do |client, origin|
      fibers = nil
      opener = Thread.new do
        wait_until(what: "100 in flight") { gate.waiting == 100 }
        GC.start
        fibers = ObjectSpace.each_object(Fiber).count(&:alive?)
        gate.open
      end
      client.fan_out(urls(origin, ["x"] * 100, "/gate"), limit: 100)
      opener.join
      assert_operator(fibers, :<, 50)
    end
  end

  def test_no_more_fibers_and_connections_than_there_are_requests
    with_origin do |client, origin|
      client.fan_out(urls(origin, 1..3), limit: 500)
      assert_operator(origin.connections, :<=, 3)
    end
  end

  def test_connections_are_used_again_within_and_between
    with_origin do |client, origin|
      3.times { client.fan_out(urls(origin, 1..100), limit: 5) }
      assert_equal(5, origin.connections)
    end
  end

  # Each request in flight has a connection of its own: where there are fewer of them than requests, these take turns.
  def test_requests_that_wait_for_a_connection_get_one_before_the_others_are_done
    slow = ->(io, _) { sleep(0.03) && io.write(answer("x")) }
    %i[fibers threads].each do |on|
      with_origin("/x" => slow, pool: { per_key: 1, wait: 100 }) do |client, origin|
        bodies = client.fan_out(urls(origin, 0...60), limit: 4, on: on).map(&:body)
        assert_equal([["x"] * 60, 1], [bodies, origin.connections])
        turns = (0..3).map { |number| origin.requests.index { |request| request.query == number.to_s } }
        assert_operator(turns.max, :<, 50, "turns of the first four")
      end
    end
  end

  def test_so_many_to_one_origin
    gate = Gate.new
    with_origin("/gate" => gate) do |client, origin|
      ScriptedOrigin.open({ "/gate" => gate }) do |other|
        requests = urls(origin, ["slow"] * 60, "/gate") + urls(other, ["fast"] * 6, "/gate")
        opener = Thread.new { wait_until(what: "those that may") { gate.waiting == 8 } && gate.open }
        responses = client.fan_out(requests, limit: 8, per_origin: 4)
        opener.join
        assert_equal([4, 4], [gate.peak("slow"), gate.peak("fast")])
        assert_equal((["slow"] * 60) + (["fast"] * 6), responses.map(&:body))
        assert_equal([4, 4], [origin.connections, other.connections])
      end
    end
  end

  def test_so_many_to_one_origin_however_it_is_written_and_whatever_fails
    with_origin do |client, origin|
      host = "127.0.0.1:#{origin.port}"
      requests = (1..50).flat_map do |i|
        ["http://#{host}/x?#{i}", { url: "HTTP://#{host}/x?#{i}" }, "no url", "http://127.0.0.1:1/", "http://\xFF"]
      end
      outcomes = client.fan_out(requests, limit: 16, per_origin: 1, on_error: :collect)
      assert_equal(250, outcomes.size)
      assert_equal(100, outcomes.count(&:ok?))
      assert_equal(1, origin.connections)
      assert_raises(Plait::UsageError) { client.fan_out(requests, per_origin: 0) }
      assert_raises(Plait::UsageError) { client.fan_out(requests, per_origin: 1, on: :threads) }
    end
  end

  def test_so_many_to_one_origin_though_its_source_is_endless
    with_origin do |client, origin|
      read = 0
      source = (1..Float::INFINITY).lazy.map { |number| origin.url("/x?#{read = number}") }
      count = 0
      client.fan_out(source, limit: 4, per_origin: 1) { break if (count += 1) == 300 }
      assert_operator(read, :<=, 300 + (4 * FanOut::PerOrigin::DEFERRED) + FanOut::AHEAD + 8)
      assert_equal(1, origin.connections)
    end
  end

  # The first member has been at the origin and waits; it is the second one that is given the next request to it.
  def test_whoever_waits_holds_no_connection_to_an_origin_that_may_have_one
    done = Queue.new
    second = ->(io, request) { done.pop && io.write(answer(request.query)) }
    with_origin do |client, origin|
      ScriptedOrigin.open({ "/second" => second }) do |other|
        answered = Queue.new
        source = Enumerator.new do |sink|
          sink << origin.url("/x?1") << other.url("/second?2")
          2.times { answered.pop }
          sink << origin.url("/x?3")
        end
        client.fan_out(source, limit: 4, per_origin: 1) { (answered << true) && (done << true) }
        assert_equal([1, 1], [origin.connections, other.connections])
      end
    end
  end

  # ---- sources ----

  def test_a_lazy_source_is_read_as_room_becomes_free
    with_origin do |client, origin|
      read = 0
      source = (1..Float::INFINITY).lazy.map { |number| origin.url("/x?#{read = number}") }
      got = []
      client.fan_out(source, limit: 4) do |response|
        got << response.body
        break if got.size == 1_000
      end
      assert_equal((1..1_000).map { |number| text(number) }.size, got.uniq.size)
      assert_operator(read, :<, 1_000 + FanOut::AHEAD + 50)
      assert_idle(client)
    end
  end

  { nil => FanOut::FiberPool, threads: FanOut::ThreadPool }.each do |on, hands|
    define_method("test_memory_is_bounded_while_the_caller_is_slow_#{on || "by_itself"}") do
      with_origin do |client, origin|
        source = on ? urls(origin, 1..1_000) : (1..Float::INFINITY).lazy.map { |number| origin.url("/x?#{number}") }
        client.fan_out(source, limit: 4, on: on) do |_response|
          next if origin.requests.size < 500

          before = origin.requests.size
          Plait.timeout(0.3) { sleep } rescue Plait::TimeoutError # rubocop:disable Style/RescueModifier
          assert_operator(origin.requests.size - before, :<=, (hands::BACKLOG + 1) * 4)
          break
        end
      end
    end
  end

  def test_memory_is_bounded_while_the_caller_waits_with_the_others
    with_origin do |client, origin|
      endless = (1..Float::INFINITY).lazy.map { |number| origin.url("/x?#{number}") }
      Plait.run(on: :fibers) do
        client.fan_out(endless, limit: 4) do |_response|
          before = origin.requests.size
          sleep(0.3)
          assert_operator(origin.requests.size - before, :<=, (FanOut::FiberPool::BACKLOG + 1) * 4)
          break
        end
      end
      assert_idle(client)
    end
  end

  def test_a_source_that_waits_does_not_stop_the_others
    reader, writer = IO.pipe
    with_origin do |client, origin|
      source = Enumerator.new { |sink| reader.each_line { |line| sink << origin.url("/x?#{line.chomp}") } }
      writer.puts("first")
      got = []
      client.fan_out(source) do |response|
        got << response.body
        got.size == 1 ? writer.puts("second") : writer.close
      end
      assert_equal([text("first"), text("second")], got)
    end
  ensure
    [reader, writer].each(&:close)
  end

  def test_a_source_may_grow_by_what_is_found
    with_origin do |client, origin|
      found = urls(origin, [1])
      client.fan_out(found, limit: 2) { |response| found << origin.url("/x?#{found.size + 1}") if found.size < 5 && response }
      assert_equal(5, origin.requests.size)
    end
  end

  def test_what_a_source_raises_comes_to_the_caller
    with_origin do |client, origin|
      source = Enumerator.new do |sink|
        sink << origin.url("/x")
        raise KeyError, "no more"
      end
      assert_raises(KeyError) { client.fan_out(source) }
      assert_idle(client)
    end
  end

  def test_the_source_is_told_that_no_more_is_wanted
    with_origin do |client, origin|
      ended = false
      source = Enumerator.new do |sink|
        loop { sink << origin.url("/x") }
      ensure
        ended = true
      end
      client.fan_out(source, limit: 2) { break }
      assert(ended)
    end
  end

  def test_what_is_no_source
    with_origin do |client, origin|
      [origin.url, nil, 5].each { |source| assert_raises(Plait::UsageError) { client.fan_out(source) } }
      assert_raises(Plait::UsageError) { client.fan_out([], limit: 0) }
      assert_raises(Plait::UsageError) { client.fan_out([], limit: [2, 3]) }
      assert_raises(Plait::UsageError) { client.fan_out([], on_error: :ignore) }
      assert_match(/nonsense/, assert_raises(Plait::UsageError) { client.fan_out([], nonsense: 1) }.message)
      assert_raises(Plait::UnknownMechanism) { client.fan_out([], on: :wishes) }
    end
  end

  # ---- how it ends ----

  def endings(gate)
    {
      "break" => ->(fan) { fan.call { break } },
      "an exception" => ->(fan) { assert_raises(KeyError) { fan.call { raise KeyError } } },
      "throw" => ->(fan) { catch(:out) { fan.call { throw :out } } },
      "Plait.timeout" => ->(fan) { assert_raises(Plait::TimeoutError) { Plait.timeout(0.3) { fan.call { nil } } } },
      "Timeout" => ->(fan) { assert_raises(Timeout::Error) { Timeout.timeout(0.3) { fan.call { nil } } } },
      "Thread#kill" => ->(fan) { kill(gate) { fan.call { nil } } },
      "Thread#raise" => ->(fan) { kill(gate) { fan.call { nil } } }
    }
  end

  def kill(gate, &block)
    thread = Thread.new(&block)
    thread.report_on_exception = false
    wait_until { gate.waiting.positive? }
    thread.kill.join
  end

  ["break", "an exception", "throw", "Plait.timeout", "Timeout", "Thread#kill"].each do |ending|
    [nil, :threads].each do |on|
      define_method("test_#{ending.tr(" #.", "_").downcase}_closes_what_was_in_flight_#{on || "by_itself"}") do
        gate = Gate.new
        with_origin("/gate" => gate) do |client, origin|
          assert_no_leaks do
            requests = [origin.url("/x"), *urls(origin, ["x"] * 50, "/gate")]
            endings(gate).fetch(ending).call(->(&block) { client.fan_out(requests, limit: 8, on: on, &block) })
            assert_idle(client)
            client.close
            gate.open
            wait_until(what: "the server to see it") { origin.open_connections.zero? }
          end
        end
      end
    end
  end

  # In C the loop of a run belongs to it; elsewhere there is none.
  if RUBY_ENGINE == "ruby"
    def left_behind(ended)
      Fiber.schedule do
        sleep
      ensure
        ended << true
      end
    end

    def test_fibers_left_behind_are_cancelled_when_it_ends_early
      with_origin do |client, origin|
        ended = []
        client.fan_out(urls(origin, 1..3)) { break left_behind(ended) }
        assert_raises(KeyError) { client.fan_out(urls(origin, 1..3)) { left_behind(ended) && raise(KeyError) } }
        assert_raises(Plait::UsageError) { client.fan_out([origin.url("/x"), 5]) { left_behind(ended) } }
        refute_empty(ended)
        assert_nil(Fiber.scheduler)
        assert_idle(client)
      end
    end

    def test_fibers_left_behind_are_awaited_no_longer_than_the_deadline
      with_origin do |client, origin|
        ended = []
        client.fan_out([origin.url("/x")]) { Fiber.schedule { ended << sleep(0.01) } }
        assert_equal(1, ended.size)
        [{}, { on_error: :collect }].each do |how|
          in_growing_times(1, 20) do |deadline|
            ended.clear
            run = -> { client.fan_out([origin.url("/x")], deadline: deadline, **how) { left_behind(ended) } }
            how.empty? ? assert_match(/left behind/, assert_raises(Plait::DeadlineExceeded, &run).message) : run.call
            assert_equal([true], ended)
          end
        end
      end
    end

    # The second interrupt ends the wait for what the first one has cancelled.
    def test_ensure_parts_run_to_their_end_although_the_run_is_interrupted_twice
      with_origin do |client, origin|
        steps = Queue.new
        thread = Thread.new { client.fan_out([{ method: :post, url: origin.url("/x"), body: slow_to_end(steps) }]) }
        thread.report_on_exception = false
        patiently do
          [[:sent, KeyError], [:begun, IndexError]].each do |step, error|
            assert_equal(step, steps.pop)
            wait_until { thread.stop? }
            thread.raise(error)
          end
          assert_raises(KeyError, IndexError) { thread.join }
        end
        assert_equal(:ended, steps.pop(true))
      end
    end

    def patiently(&block) = Support::Patience.patiently(60, FanOut.const_get(:FiberPool), &block)

    def slow_to_end(steps)
      Enumerator.new do |sink|
        sink << "a"
        steps << :sent
        sleep
      ensure
        steps << :begun
        sleep(0.3)
        steps << :ended
      end
    end

    def test_a_source_is_interrupted_once
      with_origin do |client, origin|
        steps = Queue.new
        source = Enumerator.new do |sink|
          sink << { url: origin.url("/x") } # not the waiter's: a worker then waits for the next one
          sleep
        ensure
          sleep(0.1)
          steps << :ended
        end
        patiently { client.fan_out(source) { break } }
        assert_equal(:ended, steps.pop(true))
      end
    end
  end

  def test_in_a_scope_that_is_cancelled
    gate = Gate.new
    with_origin("/gate" => gate) do |client, origin|
      Plait.run(on: :fibers) do |scope|
        task = scope.async { client.fan_out(urls(origin, ["x"] * 20, "/gate"), limit: 8) }
        sleep(0.01) until gate.waiting == 8
        task.cancel
        assert_raises(Plait::CancelledError) { task.value }
      end
      gate.open
      assert_idle(client)
      assert_equal(8, origin.requests.size)
    end
  end

  def test_within_a_fiber_of_somebody_else
    skip("the gem async is not installed: bin/setup test drivers") if Gem::Specification.find_all_by_name("async").empty?
    require "async"
    Plait.const_get(:Patches).install
    with_origin do |client, origin|
      bodies = Async { client.fan_out(urls(origin, 1..50), limit: 8).map(&:body) }.wait
      assert_equal((1..50).map { |number| text(number) }, bodies)
      seen = 0
      endless = (1..Float::INFINITY).lazy.map { |number| origin.url("/x?#{number}") }
      Async { client.fan_out(endless, limit: 8) { break if (seen += 1) == 20 } }.wait
      assert_equal(20, seen)
      assert_idle(client)
    end
  end

  # The fiber may never go on: the loop then turns in a thread of its own.
  def test_within_an_enumerator_that_is_asked_by_next
    with_origin do |client, origin|
      urls = Array.new(9) { |number| origin.url("/#{number}") }
      answers = Enumerator.new { |to| client.fan_out(urls, limit: 3) { |response| to << response.body } }
      assert_match(%r{GET /\d}, answers.next)
      assert_equal([1], Plait.map([1], on: :fibers) { |n| n })
      assert_equal(9, client.fan_out(urls, limit: 3).size)
      assert_equal(8, Array.new(8) { answers.next }.uniq.size)
    end
  end

  def test_within_a_fiber_of_ours_others_go_on
    with_origin do |client, origin|
      order = []
      Plait.run(on: :fibers) do |scope|
        scope.async do
          3.times do
            sleep(0.001)
            order << :other
          end
        end
        client.fan_out(urls(origin, 1..100), limit: 2) { order << :answer }
      end
      assert_includes(order[0..-2], :other)
      assert_equal(100, order.count(:answer))
    end
  end

  def test_one_within_the_other
    with_origin do |client, origin|
      found = []
      client.fan_out(urls(origin, 1..3)) do |response|
        found << client.fan_out(urls(origin, %w[a b])).map(&:body).push(response.body, client.get(origin.url("/x?z")).body)
      end
      assert_equal([[text("a"), text("b"), text("z")]] * 3, found.map { |bodies| bodies.values_at(0, 1, 3) })
    end
  end

  # ---- time ----

  def test_the_deadline_of_all
    gate = Gate.new
    with_origin("/gate" => gate) do |client, origin|
      requests = [origin.url("/x"), *urls(origin, ["x"] * 20, "/gate")]
      in_growing_times(1, 20) do |deadline|
        seconds = stopwatch do
          outcomes = client.fan_out(requests, limit: 4, deadline: deadline, on_error: :collect)
          assert_equal([nil, *[Plait::DeadlineExceeded] * 20], outcomes.map { |outcome| outcome.error&.class })
        end
        assert_operator(seconds, :<, deadline + 25)
      end
      assert_raises(Plait::DeadlineExceeded) { client.fan_out(requests.last(2), deadline: 0.1) }
      endless = (1..Float::INFINITY).lazy.map { origin.url("/x") }
      assert_raises(Plait::DeadlineExceeded) { client.fan_out(endless, deadline: 0.1) { nil } }
      gate.open
    end
  end

  def test_the_deadline_ends_a_source_that_waits
    reader, writer = IO.pipe
    with_origin do |client, origin|
      source = Enumerator.new do |sink|
        sink << origin.url("/x?1")
        reader.each_line { |line| sink << line }
      end
      runs = [->(deadline) { assert_raises(Plait::DeadlineExceeded) { client.fan_out(source, deadline: deadline) } },
              ->(deadline) { assert_equal([true], client.fan_out(source, deadline: deadline, on_error: :collect).map(&:ok?)) }]
      runs.product([nil, :fibers]).each do |run, on|
        in_growing_times(0.5, 20) do |deadline|
          call = -> { run.call(deadline) }
          assert_operator(stopwatch { on ? Plait.run(on: on) { |scope| scope.async(&call).value } : call.call }, :<, 60)
        end
      end
      assert_idle(client)
    end
  ensure
    [reader, writer].each(&:close)
  end

  def test_an_interrupt_anywhere_loses_no_connection
    MECHANISMS.grep(/threads|fibers/).each do |on|
      with_origin do |client, origin|
        lost = client.get(origin.url("/x")) && nil # the next one finds a connection
        each_interrupt(step: 3) do
          [-> { client.fan_out(urls(origin, 1..3), limit: 2, on: on) }, lambda do |place|
            lost ||= place unless client.statistics[:busy].zero?
          end]
        end

        assert_nil(lost, "on #{on}")
        assert_equal("GET /x ", client.get(origin.url("/x")).body)
      end
    end
  end

  def test_the_timeout_of_each
    gate = Gate.new
    with_origin("/gate" => gate) do |client, origin|
      requests = [origin.url("/x"), origin.url("/gate?x"), origin.url("/x")]
      in_growing_times(1, 20) do |seconds|
        outcomes = client.fan_out(requests, timeout: { first_byte: seconds }, on_error: :collect)
        assert_equal([nil, Plait::ReadTimeout, nil], outcomes.map { |outcome| outcome.error&.class })
      end
      gate.open
    end
  end

  def test_progress
    with_origin do |client, origin|
      told = []
      progress = ->(done, total) { told << [done, total] }
      client.fan_out(urls(origin, 1..3), limit: 1, progress: progress)
      unsized = Enumerator.new { |sink| urls(origin, 1..2).each { |url| sink << url } }
      client.fan_out(unsized, limit: 1, progress: progress)
      assert_equal([[1, 3], [2, 3], [3, 3], [1, nil], [2, nil]], told)
    end
  end

  # ---- what it costs ----

  def test_a_plain_get_makes_its_response_and_little_else
    skip("counts the objects of the native wire") unless Plait.const_get(:Native).available?
    server = Support::NginxServer.start(server: "location /x { return 200 hello; }")
    HTTP::Client.open(timeout: { total: 60 }, **PROXY) do |client|
      few, many = [200, 1_200].map { |count| Array.new(count) { |index| "#{server.url}/x?#{index}" } }
      2.times { client.fan_out(few, limit: 16) { nil } }
      base, all = [few, many].map { |requests| objects { client.fan_out(requests, limit: 16, &:body) } }
      assert_operator((all - base) / 1_000.0, :<=, 2.5)
    end
  ensure
    server&.stop
  end

  def objects
    GC.start
    GC.disable
    before = GC.stat(:total_allocated_objects)
    yield
    GC.stat(:total_allocated_objects) - before
  ensure
    GC.enable
  end
end
