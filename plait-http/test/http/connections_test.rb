# frozen_string_literal: true

require_relative "scripted_origin"
require_relative "proxy_servers"
require "support/certificates"
require "support/io_cases"
require "support/interrupts"

# The connections of a client: kept, bounded, shared by threads, fibers and forks, with TLS and by way of proxies.
class HTTPConnectionsTest < Minitest::Test
  include ClientCases
  include Support::Interrupts

  HTTP = Plait::HTTP
  Routes = HTTP.const_get(:Routes)

  # Some tests interrupt anywhere, each hundreds of times.
  def hard_timeout = 300

  # ---- kept and bounded ----

  def test_one_is_kept_for_the_next
    with_origin do |client, origin|
      5.times { client.get(origin.url("/x")) }
      client.post(origin.url("/x"), body: "y")
      assert_equal(1, origin.connections)
      assert_equal({ idle: 1, busy: 0, connected: 1, reused: 5 }, client.statistics.slice(:idle, :busy, :connected, :reused))
    end
  end

  def test_one_that_the_server_closes_is_not
    closing = always("bye", fields: ["Connection: close"])
    old = ->(io, _request) { io.write("HTTP/1.0 200 OK\r\n\r\nold") && false }
    with_origin("/close" => closing, "/old" => old) do |client, origin|
      2.times { assert_equal("bye", client.get(origin.url("/close")).body) }
      2.times { assert_equal("old", client.get(origin.url("/old")).body) }
      assert_equal(4, origin.connections)
      assert_equal(0, client.statistics[:idle])
    end
  end

  def test_one_that_said_more_than_it_was_asked_is_not
    chatty = ->(io, _request) { io.write("#{answer("fine")}#{answer("unasked")}") }
    with_origin("/x" => chatty) do |client, origin|
      5.times { assert_equal("fine", client.get(origin.url("/x")).body) }
      assert_equal(5, origin.connections)
    end
  end

  def test_no_more_than_so_many_to_an_origin
    with_origin("/x" => ->(io, _) { sleep(0.01) && io.write(answer("x")) }, pool: { per_key: 2 }) do |client, origin|
      Plait.map(1..20, on: :threads, limit: 10) { client.get(origin.url("/x")) }
      client.fan_out([origin.url("/x")] * 20, limit: 10)
      assert_equal(2, origin.connections)
      assert_idle(client)
    end
  end

  def test_who_waits_too_long_for_one_is_told
    with_origin("/x" => ->(_io, _) { sleep }, pool: { per_key: 1, wait: 0.1 }) do |client, origin|
      busy = Thread.new { client.get(origin.url("/x")) }
      busy.report_on_exception = false
      wait_until { origin.requests.any? }
      error = assert_raises(Plait::PoolTimeout) { client.get(origin.url("/y")) }
      assert_match(%r{per_key.*GET http://127}m, error.message)
      assert_raises(Plait::PoolTimeout) { client.get(origin.url("/y"), timeout: 0.05) }
      busy.kill.join
      assert_equal("GET /y ", client.get(origin.url("/y")).body)
    end
  end

  # Neither in the cache nor in the pool, and however soon the next request follows.
  def test_an_answer_that_nobody_has_asked_for_is_nobodys
    there = Queue.new
    twice = lambda do |io, request|
      io.write(answer(request.query))
      io.write(answer("surplus"))
      there << true
    end
    with_origin("/twice" => twice) do |client, origin|
      100.times do |number|
        assert_equal(number.to_s, client.get(origin.url("/twice?#{number}")).body)
        there.pop
      end
    end
  end

  def test_an_unused_one_is_closed_in_time
    with_origin(pool: { idle_timeout: 0.05 }) do |client, origin|
      client.get(origin.url("/x"))
      sleep(0.1)
      client.get(origin.url("/x"))
      assert_equal([2, 1], [origin.connections, client.statistics[:expired]])
    end
  end

  def test_so_many_are_kept_unused_and_no_more
    { 0 => [0, 100], 1 => [1, 1] }.each do |most, (kept, made)|
      with_hot_route(pool: { max_idle: most }) do |client, origin|
        assert_equal([kept, made], [client.statistics[:idle], origin.connections])
        client.fan_out([origin.url("/x")] * 50, limit: 8)
        assert_equal([kept, 0], client.statistics.values_at(:idle, :busy))
        wait_until { origin.open_connections == kept }
      end
    end
  end

  # Whoever has such a connection next is taken for the user who has logged in on it (RFC 4559 §6).
  LOGINS = {
    "Authorization" => [{ headers: { "Authorization" => "Negotiate YII=" } }, []],
    "Proxy-Authorization" => [{ headers: { "proxy-authorization" => "ntlm TlRM" } }, []],
    "auth" => [{ auth: "NTLM TlRM" }, []],
    "a challenge" => [{}, ["WWW-Authenticate: Basic realm=\"a\", Negotiate"]],
    "a proxy's challenge" => [{}, ["Proxy-Authenticate: NTLM"]],
    "Persistent-Auth" => [{}, ["Persistent-Auth: true"]]
  }.freeze

  def test_one_that_a_user_has_logged_in_is_for_no_other_call
    LOGINS.each do |how, (request, fields)|
      with_origin("/x" => always("x", fields: fields)) do |client, origin|
        url = origin.url("/x")
        3.times { client.get(url, **request) }
        client.get(url, **request) { |response| response.each_piece { nil } }
        client.request(:head, url, **request)
        client.fan_out([{ url: url, **request }] * 3, limit: 1)
        client.get(origin.url("/other"))
        assert_equal(8, origin.requests.first(8).map(&:connection).uniq.size, how)
        assert_equal(9, origin.connections, how)
      end
    end
  end

  def test_one_that_the_client_itself_logs_in_is_used_once
    [{ auth: "Negotiate YII=" }, { headers: { "Authorization" => "NTLM TlRM" } }].each do |options|
      with_origin(**options) do |client, origin|
        3.times { client.get(origin.url("/x")) }
        client.fan_out([origin.url("/x")] * 20, limit: 4)
        Plait.map(1..5, on: :threads) { client.get(origin.url("/x")) }
        assert_equal(28, origin.connections)
      end
    end
  end

  # In the cache, in the pool, in a stream and in a fan-out's slot.
  def test_an_idle_one_is_not_used_once_its_server_gives_it_up
    with_origin("/x" => always("x", fields: ["Keep-Alive: timeout=1, max=100"])) do |client, origin|
      url = origin.url("/x")
      40.times { client.get(url) }
      before = origin.connections # more than one where 40 calls take a second
      [-> { client.get(url) }, -> { client.get(url) { |answer| answer.each_piece { nil } } }, -> { client.fan_out([url]) },
       -> { client.post(url, body: "y") }].each.with_index(before + 1) do |call, number|
        sleep(0.6)
        call.call
        assert_equal(number, origin.connections)
      end
    end
  end

  def test_the_next_request_of_a_slow_fan_out_has_a_new_one
    with_origin("/x" => always("x", fields: ["Keep-Alive: timeout=1"])) do |client, origin|
      taken = 0
      urls = Enumerator.new do |out|
        3.times do |asked|
          wait_until { taken == asked }
          sleep(0.8)
          out << origin.url("/x")
        end
      end
      assert_equal(%w[x x x], client.fan_out(urls, limit: 1, progress: ->(done, _) { taken = done }).map(&:body))
      assert_equal(3, origin.connections)
    end
  end

  # RFC 6874: the zone chooses the interface, and is no business of the server.
  def test_an_address_with_a_zone
    loopback = Socket.getifaddrs.find { |one| one.addr&.ipv6_loopback? } or skip("no IPv6")
    ScriptedOrigin.open({}, host: "::1") do |origin|
      HTTP::Client.open(proxy: false) do |client|
        url = origin.url("/x", host: "[::1%25#{loopback.ifindex}]")
        responses = [client.get(url), client.get(url, {}), *client.fan_out([url, { url: url }])]
        assert_equal([url], responses.map(&:url).uniq)
        assert_equal([["/x", "[::1]:#{origin.port}"]], origin.requests.map { |request| [request.target, request["host"]] }.uniq)
      end
    end
  end

  def test_a_proxy_hears_of_no_zone
    ScriptedOrigin.open do |proxy|
      HTTP::Client.open(proxy: proxy.url) { |client| client.get("http://[fe80::1%251]/x?y") }
      assert_equal([["http://[fe80::1]/x?y", "[fe80::1]"]], proxy.requests.map { |request| [request.target, request["host"]] })
    end
  end

  def test_one_has_no_more_requests_than_its_server_takes
    with_origin("/x" => always("x", fields: ["Keep-Alive: timeout=60, max=4"])) do |client, origin|
      40.times { client.get(origin.url("/x")) }
      client.fan_out([origin.url("/x")] * 40, limit: 2)
      assert_operator(origin.requests.map(&:connection).tally.values.max, :<=, 5)
    end
  end

  def test_a_closed_client_says_so
    with_origin do |client, origin|
      client.get(origin.url("/x"))
      client.close
      wait_until { origin.open_connections.zero? }
      assert_match(/closed/, assert_raises(Plait::UsageError) { client.get(origin.url("/x")) }.message)
    end
  end

  def test_open_closes
    ScriptedOrigin.open do |origin|
      assert_no_leaks do
        assert_equal("GET /x ", HTTP::Client.open(proxy: false) { |client| client.get(origin.url("/x")).body })
        assert_raises(KeyError) { HTTP::Client.open(proxy: false) { |client| client.get(origin.url("/x")) && raise(KeyError) } }
        wait_until { origin.open_connections.zero? }
      end
    end
  end

  # ---- shared ----

  { sequence: 1, threads: 8, fibers: 32, hybrid: 8, processes: 4 }.each do |on, limit|
    next if RUBY_ENGINE != "ruby" && on != :threads

    define_method("test_every_caller_gets_its_own_answer_on_#{on}") do
      with_origin do |client, origin|
        client.get(origin.url("/x?0"))
        bodies = Plait.map(1..300, on: on, limit: limit) { |number| client.get(origin.url("/x?#{number}")).body }
        assert_equal((1..300).map { |number| "GET /x?#{number} " }, bodies)
        assert_idle(client)
      end
    end

    define_method("test_a_timeout_never_gives_an_answer_to_the_next_caller_on_#{on}") do
      slow = lambda do |io, request|
        sleep(rand * 0.02)
        io.write(answer(request.query))
      end
      with_origin("/slow" => slow) do |client, origin|
        results = Plait.map(1..80, on: on, limit: [limit, 8].min) do |number|
          client.get(origin.url("/slow?#{number}"), timeout: { first_byte: 0.01 }).body.to_i - number
        rescue Plait::TimeoutError
          0
        end
        assert_equal([0], results.uniq)
        assert_idle(client)
      end
    end
  end

  def test_responses_travel_between_processes
    with_origin do |client, origin|
      responses = Plait.map([1, 2], on: :processes) { |number| client.get(origin.url("/x?#{number}")) }
      assert_equal(["GET /x?1 ", "GET /x?2 "], responses.map(&:body))
      assert_equal(["text/plain"] * 2, responses.map { |response| response["content-type"] })
      assert_equal([200, 200], responses.map(&:status))
    end
  end

  def test_the_child_of_a_fork_has_connections_of_its_own
    with_origin do |client, origin|
      client.get(origin.url("/parent"))
      reader, writer = IO.pipe
      pid = fork do
        writer.write("#{client.statistics[:idle]} #{client.get(origin.url("/child")).body}")
        client.close
        exit!(0)
      end
      writer.close
      assert_equal("0 GET /child ", reader.read)
      Process.wait(pid)
      assert_equal("GET /parent ", client.get(origin.url("/parent")).body)
      assert_equal([1, 2, 1], origin.requests.map(&:connection), "the parent's own is still good")
    ensure
      [reader, writer].each(&:close)
    end
  end

  def test_killed_in_the_middle_it_leaves_nothing
    with_origin("/hang" => ->(io, _) { io.read && false }) do |client, origin|
      20.times do
        thread = Thread.new { client.get(origin.url("/hang")) }
        sleep(rand * 0.01)
        thread.kill.join
      end
      assert_idle(client)
      wait_until { origin.open_connections.zero? }
      assert_equal("GET /x ", client.get(origin.url("/x")).body)
    end
  end

  def test_interrupted_at_any_point_it_loses_no_place
    with_origin(pool: { per_key: 2, wait: 10 }) do |client, origin|
      200.times do
        Timeout.timeout(rand * 0.002) { loop { client.get(origin.url("/x")) } }
      rescue Timeout::Error
        nil
      end
      assert_idle(client)
      assert_equal("GET /x ", client.get(origin.url("/x")).body)
    end
  end

  # ---- what is being made ----

  def assert_interrupts_lose_no_socket(url, step:, **options)
    assert_no_socket_lost(step: step) do
      client = Plait::HTTP::Client.new(proxy: false, **options)
      [-> { client.get(url) }, lambda do
        assert_idle(client)
        client.close
      end]
    end
  end

  def test_an_interrupt_anywhere_while_connecting_loses_no_socket
    with_origin { |_, origin| assert_interrupts_lose_no_socket(origin.url("/x"), step: 2) }
  end

  def test_an_interrupt_anywhere_while_a_proxy_connects_loses_no_socket
    with_origin do |_, origin|
      there = ->(*) { ["127.0.0.1", origin.port] }
      with_proxy(ProxyServers.socks5(Queue.new, to: there)) do |port|
        assert_interrupts_lose_no_socket(origin.url("/x"), proxy: "socks5h://127.0.0.1:#{port}", step: 9)
      end
    end
  end

  def test_an_interrupt_anywhere_in_a_tls_handshake_loses_no_socket
    with_tls { |origin, tls| assert_interrupts_lose_no_socket(origin.url("/x", host: "localhost"), tls: tls, step: 9) }
  end

  # ---- the cache: where the connections of a route lie that is used all the time ----

  # @yieldparam warm [#call] makes the route a hot one
  def with_hot_route(**options)
    with_origin(**options) do |client, origin|
      warm = -> { 100.times { |number| assert_equal("GET /x?#{number} ", client.get(origin.url("/x?#{number}")).body) } }
      warm.call
      yield(client, origin, warm)
    end
  end

  class Interrupted < StandardError; end
  # A call with a header has a way through Ruby.
  IN_RUBY = { "X-Way" => "Ruby" }.freeze
  private_constant :Interrupted, :IN_RUBY

  # Where a method in C returns, too, Ruby looks for interrupts.
  def test_interrupted_between_the_caches_hands_and_ours
    %i[pop push].each do |step|
      with_hot_route do |client, origin, _|
        places = client.instance_variable_get(:@connections).instance_variable_get(:@cache).entries
        places.define_singleton_method(step) do |*arguments|
          singleton_class.send(:remove_method, step)
          super(*arguments).tap { Thread.current.raise(Interrupted) }
        end
        assert_raises(Interrupted) { client.get(origin.url("/x"), headers: IN_RUBY) }
        assert_idle(client)
        assert_equal("GET /x ", client.get(origin.url("/x")).body)
      end
    end
  end

  # A mask of ours would go before the caller's.
  { "from_the_pool" => [0, ->(client, url) { client.get(url) }], "in_the_cache" => [100, ->(client, url) { client.get(url) }],
    "of_a_lane" => [0, ->(client, url) { client.fan_out([url], on: :sequence).first }] }.each do |where, (before, call)|
    define_method(:"test_an_interrupt_that_the_caller_has_masked_does_not_come_while_one_is_awaited_#{where}") do
      gate = Queue.new
      answers = Queue.new
      with_origin("/gate" => ->(io, _) { gate.pop && io.write(answer) }, pool: { per_key: 1, wait: 60 }) do |client, origin|
        before.times { client.get(origin.url("/x")) }
        holder = Thread.new { client.get(origin.url("/gate")) }
        wait_until { origin.count("/gate") == 1 }
        thread = Thread.new do
          Thread.handle_interrupt(Interrupted => :never) { answers << call.call(client, origin.url("/x")).body }
        end
        thread.report_on_exception = false
        wait_until { client.connections.instance_variable_get(:@pool).statistics[:waiting] == 1 }
        thread.raise(Interrupted)
        gate << true
        assert_raises(Interrupted) { thread.join }
        holder.join
        assert_equal(["GET /x ", 0], [answers.pop(true), client.statistics[:busy]])
      end
    end
  end

  def test_a_request_that_waits_gets_a_cached_connection
    with_hot_route(pool: { per_key: 2, wait: 30 }) do |client, origin|
      numbers = (1..2_000).to_a
      bodies = Plait.map(numbers, on: :threads, limit: 16) do |number|
        explained(client) { client.get(origin.url("/x?#{number}")).body }
      end
      assert_equal(numbers.map { |number| "GET /x?#{number} " }, bodies)
      assert_equal(numbers.size, client.fan_out(numbers.map { |number| origin.url("/x?#{number}") }, limit: 16).size)
      assert_equal(2, origin.connections)
      assert_idle(client)
    end
  end

  # A request that no connection is given to would say little of why.
  def explained(client)
    yield
  rescue Plait::PoolTimeout
    connections = client.connections
    pool, cache = %i[@pool @cache].map { |name| connections.instance_variable_get(name) }
    flunk([pool.inspect, "#{connections.waiting} wait, #{cache.entries.size} cached",
           *Thread.list.map { |thread| [thread.inspect, *thread.backtrace&.first(12)].join("\n  ") }].join("\n"))
  end

  # A waiter that comes when its neighbour has looked for waiters, and has not put its connection in the cache yet.
  def test_who_comes_in_between_is_not_overlooked
    with_hot_route(pool: { per_key: 1, wait: 20 }) do |client, origin|
      waiter = nil
      clock = lambda do
        if waiter.nil?
          waiter = Thread.new { client.get(origin.url("/x?late")).body }
          wait_until { client.connections.instance_variable_get(:@pool).statistics[:waiting] == 1 }
        end
        Process.clock_gettime(Process::CLOCK_MONOTONIC)
      end
      hold(clock) { client.get(origin.url("/x?main"), headers: IN_RUBY) }
      assert_equal("GET /x?late ", waiter.value)
      assert_equal(1, origin.connections)
    end
  end

  # Only the moment in which a connection is put in the cache.
  def hold(clock)
    place = HTTP.const_get(:Connections)::Cache::Entry
    original = place.instance_method(:since=)
    place.remove_method(:since=)
    place.define_method(:since=) { |_time| original.bind_call(self, clock.call) }
    yield
  ensure
    place.remove_method(:since=)
    place.define_method(:since=, original)
  end

  def test_one_that_the_server_closes_is_not_put_there
    asked = 0
    now_and_then = lambda do |io, request|
      io.write(answer(request.query, fields: (asked += 1) % 3 == 0 ? ["Connection: close"] : []))
    end
    with_hot_route("/now" => now_and_then) do |client, origin|
      100.times { |number| assert_equal(number.to_s, client.post(origin.url("/now?#{number}"), body: "x").body) }
      assert_equal(34, origin.connections)
    end
  end

  def test_another_origin_gets_the_room_of_what_lies_there
    ScriptedOrigin.open do |other|
      with_hot_route(pool: { max: 1, wait: 5 }) do |client, origin, warm|
        3.times do
          assert_equal("GET /y ", client.get(other.url("/y")).body)
          warm.call
        end
        assert_equal(4, origin.connections)
      end
    end
  end

  def test_one_that_grew_stale_there_is_seen
    with_hot_route do |client, origin|
      origin.hang_up
      sleep(0.01) # one that is used again at once is not looked at
      assert_equal("POST /x y", client.post(origin.url("/x"), body: "y").body)
      assert_equal(2, origin.connections)
    end
  end

  def test_one_that_lay_there_for_too_long_is_not_used
    with_hot_route(pool: { idle_timeout: 0.05 }) do |client, origin|
      before = origin.connections
      sleep(0.1)
      client.get(origin.url("/x"))
      assert_equal(before + 1, origin.connections)
    end
  end

  def test_closing_closes_what_lies_there
    with_hot_route do |client, origin|
      client.close
      wait_until { origin.open_connections.zero? }
      assert_raises(Plait::UsageError) { client.get(origin.url("/x")) }
    end
  end

  def test_the_child_of_a_fork_finds_it_empty
    with_hot_route do |client, origin|
      reader, writer = IO.pipe
      pid = fork do
        bodies = Array.new(100) { |number| client.get(origin.url("/x?#{number}")).body }
        writer.write((bodies == Array.new(100) { |number| "GET /x?#{number} " }).to_s)
        exit!(0)
      end
      writer.close
      assert_equal("true", reader.read)
      Process.wait(pid)
      client.get(origin.url("/x"))
      assert_equal([1, 2], [origin.requests.last.connection, origin.connections])
    ensure
      [reader, writer].each(&:close)
    end
  end

  def test_nobody_gets_the_answer_of_one_who_was_interrupted
    with_hot_route(pool: { per_key: 3, wait: 30 }) do |client, origin|
      threads = Array.new(4) do |thread|
        Thread.new do
          Array.new(150) do |round|
            Timeout.timeout(rand * 0.004) { 100.times { |i| ask(client, origin, "#{thread}-#{round}-#{i}") } }
          rescue Timeout::Error
            nil
          end
        end
      end
      assert_empty(threads.flat_map(&:value).grep(String))
      assert_idle(client)
      assert_operator(client.statistics[:idle], :<=, 3)
    end
  end

  # From the cache to the pool: the server closes one connection of three, and fibers, threads and the pool want the others.
  %i[threads fibers].each do |mechanism|
    define_method(:"test_interrupted_at_any_point_#{mechanism}_lose_no_cached_one") do
      asked = 0
      now_and_then = lambda do |io, request|
        io.write(answer(request.query, fields: (asked += 1) % 3 == 0 ? ["Connection: close"] : []))
      end
      with_hot_route("/now" => now_and_then, pool: { per_key: 3, wait: 30 }) do |client, origin|
        numbers = (1..50).to_a
        60.times do
          Timeout.timeout(rand * 0.02, Interrupted) do
            bodies = Plait.map(numbers, on: mechanism, limit: 6) { |number| client.get(origin.url("/now?#{number}")).body }
            assert_equal(numbers.map(&:to_s), bodies)
          end
        rescue Interrupted
          nil
        end
        assert_idle(client)
        assert_operator(client.statistics[:idle], :<=, 3)
      end
    end
  end

  # The child of a fork in the middle of other calls has none of their connections, and they lose none.
  def test_a_fork_in_the_middle_of_calls_takes_no_cached_one_along
    with_hot_route(pool: { per_key: 3, wait: 30 }) do |client, origin|
      calls = Thread.new { Plait.map((1..3_000).to_a, on: :threads, limit: 6) { |number| ask(client, origin, number) } }
      children = Array.new(3) { fork { exit!(client.get(origin.url("/x?child")).body == "GET /x?child " ? 0 : 1) } }
      assert_equal([0] * 3, children.map { |pid| Process.wait2(pid).last.exitstatus })
      assert_equal([nil], calls.value.uniq)
      assert_idle(client)
    end
  end

  def ask(client, origin, word)
    body = client.get(origin.url("/x?#{word}")).body
    raise "asked for #{word}, got #{body}" unless body == "GET /x?#{word} "
  end

  # ---- routes ----

  def test_a_route_for_what_is_written_as_its_origin
    client = HTTP::Client.new(proxy: false)
    routes = client.routes
    assert_same(routes.plain("http://host/a"), routes.plain("http://host/b?c/d"))
    assert(routes.plain("http://host"))
    assert(routes.plain("https://[::1]:8/x"))
    %w[http://user@host/ HTTP://host/ http://host?b http://host#b //host/ host /path].each { |url| assert_nil(routes.plain(url), url) }
    assert_raises(Plait::UsageError) { routes.plain("http://ho st/") }
  end

  def test_a_route_serves_no_other_origin
    route = HTTP::Client.new(proxy: false).routes.plain("http://host/")
    %w[http://host http://host/ http://host/x http://host?x http://host#x].each { |url| assert(route.serves?(url), url) }
    %w[http://host.evil/ http://host:81/ http://hos/ https://host/ http://host@evil/ http://hostx].each { |url| refute(route.serves?(url), url) }
  end

  def test_routes_are_bounded
    client = HTTP::Client.new(proxy: false)
    routes = client.routes
    first = routes.plain("http://h0/")
    (Routes::KEPT + 10).times { |number| assert_equal("h#{number}", routes.plain("http://h#{number}/").origin.host) }
    refute_same(first, routes.plain("http://h0/"))
    assert_operator(routes.instance_variable_get(:@routes).size, :<=, Routes::KEPT)
  end

  # ---- TLS ----

  def test_tls_verifies
    with_tls do |origin, tls|
      error = assert_raises(Plait::CertificateError) { HTTP.get(origin.url("/x", host: "localhost"), proxy: false) }
      assert_match(%r{GET https://localhost}, error.message)
      HTTP::Client.open(tls: tls, proxy: false) do |client|
        assert_equal("GET /x ", client.get(origin.url("/x", host: "localhost")).body)
        assert_equal("GET /y ", client.get(origin.url("/y", host: "localhost")).body)
        error = assert_raises(Plait::CertificateError) { client.get(origin.url("/x")) }
        assert_equal(:wrong_name, error.reason)
        assert_equal(1, client.statistics[:connected])
      end
      HTTP::Client.open(tls: { verify: false }, proxy: false) { |client| assert_equal(200, client.get(origin.url("/x")).status) }
    end
  end

  def test_tls_on_fibers_in_streams_and_with_large_bodies
    with_tls("/big" => always("x" * 300_000)) do |origin, tls|
      HTTP::Client.open(tls: tls, proxy: false) do |client|
        urls = (1..50).map { |number| origin.url("/x?#{number}", host: "localhost") }
        assert_equal((1..50).map { |number| "GET /x?#{number} " }, client.fan_out(urls, limit: 8).map(&:body))
        big = origin.url("/big", host: "localhost")
        assert_equal([300_000] * 4, client.fan_out([big] * 4).map { |response| response.body.bytesize })
        assert_equal(300_000, client.get(big) { |response| response.each_piece.sum(&:bytesize) })
        sent = client.post(origin.url("/up", host: "localhost"), body: "y" * 300_000).body
        assert_equal(300_000, sent.count("y"))
      end
    end
  end

  def test_a_client_certificate
    authority = Certificates::Authority.new
    ours = authority.issue(name: "ours")
    with_tls(authority: authority, verify: authority) do |origin, tls|
      HTTP::Client.open(tls: { **tls, **ours.to_h }, proxy: false) do |client|
        assert_equal(200, client.get(origin.url("/x", host: "localhost")).status)
      end
      HTTP::Client.open(tls: tls, proxy: false) do |client|
        assert_raises(Plait::TLSError, Plait::ConnectionError) { client.get(origin.url("/x", host: "localhost")) }
        assert_idle(client)
      end
    end
  end

  def test_timings_tell_what_a_connection_took
    with_tls do |origin, tls|
      HTTP::Client.open(tls: tls, proxy: false) do |client|
        first, second = Array.new(2) { client.get(origin.url("/x", host: "localhost")).timings }
        assert_operator(first.tls, :>, 0)
        assert_operator(first.connect, :>, 0)
        assert_operator(first.total, :>=, first.tls)
        assert_nil(second.tls)
      end
    end
  end

  # ---- proxies ----

  def test_a_proxy_that_forwards_is_asked_for_the_whole_url
    ScriptedOrigin.open do |proxy|
      HTTP::Client.open(proxy: "http://user:secret@127.0.0.1:#{proxy.port}") do |client|
        2.times { assert_equal("GET http://origin.test/x?1 ", client.get("http://origin.test/x?1").body) }
        assert_equal("POST http://origin.test/ y", client.post("http://origin.test", body: "y").body)
      end
      asked = proxy.requests.first
      assert_equal(["origin.test", "Basic dXNlcjpzZWNyZXQ="], [asked["host"], asked["proxy-authorization"]])
      assert_equal(1, proxy.connections)
    end
  end

  def test_a_proxy_connects_to_origins_with_tls
    with_tls do |origin, tls|
      asked = Queue.new
      handler = ProxyServers.connect(asked, to: ->(_target) { ["127.0.0.1", origin.port] })
      with_proxy(handler) do |port|
        HTTP::Client.open(tls: tls, proxy: "http://user:secret@127.0.0.1:#{port}") do |client|
          urls = (1..10).map { |number| "https://localhost:#{origin.port}/x?#{number}" }
          assert_equal((1..10).map { |number| "GET /x?#{number} " }, client.fan_out(urls, limit: 2).map(&:body))
          assert_operator(client.statistics[:connected], :<=, 2)
        end
      end
      assert_match(/\ACONNECT localhost:#{origin.port} .*Proxy-Authorization: Basic/m, asked.pop)
      assert_nil(origin.requests.first["proxy-authorization"])
    end
  end

  def test_what_a_proxy_refuses_is_no_answer_of_the_origin
    refusing = ProxyServers.connect(Queue.new, answer: "HTTP/1.1 407 Who are you\r\nContent-Length: 0\r\n\r\n")
    with_proxy(refusing) do |port|
      HTTP::Client.open(proxy: "http://127.0.0.1:#{port}") do |client|
        error = assert_raises(Plait::ConnectError) { client.get("https://localhost:1/x") }
        assert_match(%r{407.*GET https://localhost:1/x}m, error.message)
        assert_idle(client)
      end
    end
  end

  def test_the_environment_names_a_proxy_unless_told_otherwise
    ScriptedOrigin.open do |proxy|
      with_environment("http_proxy" => "http://127.0.0.1:#{proxy.port}", "no_proxy" => "direct.test") do
        HTTP::Client.open { |client| assert_equal("GET http://origin.test/ ", client.get("http://origin.test/").body) }
        direct = { connector: { resolver: ToPort.new(1) } }
        HTTP::Client.open(**direct) { |client| assert_raises(Plait::ConnectError) { client.get("http://direct.test/") } }
        HTTP::Client.open(**direct, proxy: false) { |client| assert_raises(Plait::ConnectError) { client.get("http://origin.test/") } }
      end
      assert_equal(1, proxy.requests.size)
    end
  end

  # Every name is this machine.
  ToPort = Struct.new(:port) do
    def resolve(*, **) = [Addrinfo.tcp("127.0.0.1", port)]
  end

  private

  def with_environment(variables)
    before = variables.to_h { |name, _| [name, ENV.fetch(name, nil)] }
    ENV.update(variables)
    yield
  ensure
    ENV.update(before)
  end

  def with_proxy(handler)
    server = TCPServer.new("127.0.0.1", 0)
    threads = []
    threads << Thread.new { accept_each(server, threads) { |socket| handler.call(socket) } }
    yield(server.addr[1])
  ensure
    threads.each { |thread| thread.kill.join }
    server.close
  end

  def accept_each(server, threads)
    loop do
      threads << Thread.new(server.accept) do |socket|
        yield(socket)
      rescue IOError, SystemCallError
        nil
      ensure
        socket.close
      end
    end
  end

  def with_tls(authority: Certificates::Authority.new, verify: nil, **routes)
    require "openssl"
    leaf = authority.issue("DNS:localhost")
    context = OpenSSL::SSL::SSLContext.new
    context.cert, context.key = leaf.certificate, leaf.key
    if verify
      context.verify_mode = OpenSSL::SSL::VERIFY_PEER | OpenSSL::SSL::VERIFY_FAIL_IF_NO_PEER_CERT
      context.cert_store = verify.store
    end
    ScriptedOrigin.open(routes, tls: context) { |origin| yield(origin, { cert_store: authority.store }) }
  end
end
