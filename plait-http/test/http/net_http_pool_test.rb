# frozen_string_literal: true

require "support/interrupts"
require_relative "net_http_origin"

# Limits, the line, idle connections, forks, and sessions that nobody ends.
class NetHTTPPoolTest < Minitest::Test
  include NetHTTPCases
  include Support::Interrupts

  # Some tests interrupt anywhere, each hundreds of times.
  def hard_timeout = 300

  # An origin that answers /wait when the test lets it.
  def held
    gate = Queue.new
    origin("/wait" => ->(io, request) { gate.pop && io.write(answer(request.path)) }) { |origin| yield origin, gate }
  ensure
    gate.close
  end

  def in_use = NetHTTP.statistics.in_use

  def waiting = NetHTTP.statistics.waiting

  def test_no_more_than_per_key_allows
    NetHTTP.configure(per_key: 3)
    held do |origin, gate|
      threads = Array.new(8) { Thread.new { Net::HTTP.get(origin.url("/wait")) } }
      wait_until { waiting == 5 && origin.requests.size == 3 }
      assert_equal(3, in_use)
      8.times { gate << true }
      assert_equal(["/wait"] * 8, threads.map(&:value))
      assert_equal([3, 5], [origin.connections, counted(:waited)])
      NetHTTP.clear
    end
  end

  def test_no_more_than_total_allows_whatever_the_origin
    NetHTTP.configure(total: 2)
    held do |one, gate|
      held do |other, second|
        busy = [Thread.new { Net::HTTP.get(one.url("/wait")) }, Thread.new { Net::HTTP.get(other.url("/wait")) }]
        wait_until { one.requests.any? && other.requests.any? }
        late = Thread.new { Net::HTTP.get(other.url("/late")) }
        wait_until { waiting == 1 }
        gate << true # the idle connection of the one makes room for the other
        assert_equal("GET /late ", late.value)
        second << true
        busy.each(&:join)
        assert_equal([1, 2, 1], [one.connections, other.connections, counted(:evicted)])
        NetHTTP.clear
      end
    end
  end

  def test_first_come_first_served
    NetHTTP.configure(per_key: 1)
    held do |origin, gate|
      order = Queue.new
      threads = Array.new(6) do |n|
        thread = Thread.new { Net::HTTP.get(origin.url("/wait?#{n}")) && (order << n) }
        wait_until { n.zero? ? origin.requests.any? : waiting == n }
        thread
      end
      6.times { gate << true }
      threads.each(&:join)
      assert_equal([0, 1, 2, 3, 4, 5], Array.new(6) { order.pop })
      assert_equal(1, origin.connections)
      NetHTTP.clear
    end
  end

  def test_nobody_waits_behind_one_whose_own_origin_is_full
    NetHTTP.configure(per_key: 1)
    held do |full, gate|
      origin do |other|
        busy = Array.new(2) { Thread.new { Net::HTTP.get(full.url("/wait")) } }
        wait_until { waiting == 1 }
        assert_equal("GET / ", Net::HTTP.get(other.url))
        2.times { gate << true }
        busy.each(&:join)
        NetHTTP.clear
      end
    end
  end

  def test_the_line_has_an_end
    NetHTTP.configure(per_key: 1)
    held do |origin, gate|
      busy = Thread.new { Net::HTTP.get(origin.url("/wait")) }
      wait_until { origin.requests.any? }
      error = assert_raises(Net::OpenTimeout) { http_to(origin, open_timeout: 0.05).get("/") }
      assert_match(/127\.0\.0\.1:#{origin.port}.*per_key/, error.message)
      assert_equal(0, waiting)
      gate << true
      busy.join
      assert_equal([0, 1], NetHTTP.statistics.to_h.values_at(:in_use, :idle))
      NetHTTP.clear
    end
  end

  def test_who_is_killed_in_the_line_leaves_it
    NetHTTP.configure(per_key: 1)
    held do |origin, gate|
      busy = Thread.new { Net::HTTP.get(origin.url("/wait")) }
      wait_until { origin.requests.any? }
      killed = Thread.new { Net::HTTP.get(origin.url("/killed")) }
      wait_until { waiting == 1 }
      last = Thread.new { Net::HTTP.get(origin.url("/last")) }
      wait_until { waiting == 2 }
      killed.kill.join
      assert_equal(1, waiting)
      gate << true
      assert_equal("GET /last ", last.value)
      busy.join
      assert_equal([0, 1], NetHTTP.statistics.to_h.values_at(:in_use, :idle))
      NetHTTP.clear
    end
  end

  # Kills at any point, also in the pool's own code: no place may be lost, no answer swapped.
  def test_no_place_is_lost_by_kills_at_any_moment
    NetHTTP.configure(per_key: 4)
    random = Random.new(7)
    origin do |origin|
      60.times do |round|
        threads = Array.new(8) do |n|
          Thread.new { 20.times { |i| Net::HTTP.get(origin.url("/#{round}-#{n}-#{i}")) == "GET /#{round}-#{n}-#{i} " or raise "swapped" } }
        end
        sleep(random.rand * 0.003)
        threads.first(6).each(&:kill)
        threads.each(&:join)
      end
      assert_equal([0, 0], NetHTTP.statistics.to_h.values_at(:in_use, :waiting))
      assert_operator(NetHTTP.statistics.idle, :<=, 4)
      NetHTTP.clear
    end
  end

  def test_no_place_is_lost_by_an_interrupt_anywhere
    origin do |origin|
      GC.disable # which would give a lost place back
      each_interrupt do
        [-> { Net::HTTP.get(origin.url) }, ->(place) { assert_equal(0, in_use, place) }]
      end
      NetHTTP.clear
    ensure
      GC.enable
    end
  end

  # The last place where Net::HTTP has the socket and the pool's lease does not.
  def test_an_interrupt_between_net_https_hands_and_the_pools_leaves_no_socket
    origin do |origin|
      http = http_to(origin)
      ours = nil
      trace = TracePoint.new(:return) do |point|
        next unless point.method_id == :connect && point.path.end_with?("net/http.rb")

        trace.disable
        ours = http.instance_variable_get(:@socket).io
        Thread.current.raise(Interrupted) # no StandardError: those close the socket in Net::HTTP itself
      end
      assert_raises(Interrupted) { trace.enable { http.start } }
      assert_predicate(ours, :closed?)
      assert_equal(0, in_use)
    end
  end

  def test_a_kill_waits_for_the_end_of_what_belongs_together
    steps = Queue.new
    thread = Thread.new do
      NetHTTP.pool.send(:locked) do
        steps << :begun
        Thread.pass until steps.closed?
        100.times { Thread.pass }
        @ended = true
      end
    end
    steps.pop
    thread.kill
    steps.close
    thread.join
    assert(@ended)
  end

  def test_sessions_between_two_requests_make_room
    NetHTTP.configure(per_key: 2)
    origin do |origin|
      sessions = Array.new(5) { http_to(origin).start.tap { |http| http.get("/") } }
      3.times { |n| assert_equal(["GET /#{n} "] * 5, sessions.map { |http| http.get("/#{n}").body }) }
      sessions.each(&:finish)
      wait_until { origin.open_connections <= 2 }
      assert_equal(0, in_use)
      NetHTTP.clear
    end
  end

  def test_persistent_clients_that_hold_theirs_do_not_shut_others_out
    need("net/http/persistent")
    NetHTTP.configure(per_key: 2)
    origin do |origin|
      clients = Array.new(4) { Net::HTTP::Persistent.new }
      2.times { clients.each { |client| assert_equal("GET /p ", client.request(origin.url("/p")).body) } }
      assert_equal("GET / ", Net::HTTP.get(origin.url))
      clients.each(&:shutdown)
      NetHTTP.clear
    end
  end

  def test_keep_alive_timeout_says_how_old_a_connection_may_be
    origin do |origin|
      http_to(origin, keep_alive_timeout: 60).get("/")
      sleep(0.05)
      http_to(origin, keep_alive_timeout: 0.01).get("/")
      assert_equal(2, origin.connections)
      http_to(origin, keep_alive_timeout: 60).get("/")
      assert_equal(2, origin.connections)
      NetHTTP.clear
    end
  end

  def test_what_the_server_says_counts_too
    fields = { "/brief" => ["Keep-Alive: timeout=0"], "/long" => ["Keep-Alive: timeout=30, max=100"] }
    origin(fields.transform_values { |lines| ->(io, _) { io.write(answer("ok", fields: lines)) } }) do |origin|
      2.times { Net::HTTP.get(origin.url("/long")) }
      assert_equal(1, origin.connections)
      2.times { Net::HTTP.get(origin.url("/brief")) }
      assert_equal(2, origin.connections)
      NetHTTP.clear
    end
  end

  def test_idle_connections_are_closed_in_time
    NetHTTP.configure(idle_timeout: 0.05)
    origin do |old|
      origin do |origin|
        Net::HTTP.get(old.url)
        forgotten = http_to(old).start
        forgotten.get("/forgotten")
        wait_until do
          Net::HTTP.get(origin.url)
          old.open_connections.zero?
        end
        assert_equal("GET /again ", forgotten.get("/again").body)
        forgotten.finish
        NetHTTP.clear
      end
    end
  end

  def test_a_session_that_was_forgotten_gives_its_place_back
    NetHTTP.configure(per_key: 10)
    origin do |origin|
      GC.disable
      forget(origin)
      assert_equal(10, in_use)
      GC.enable
      wait_until(what: "the end of forgotten sessions") do
        Array.new(1000) { +"" }
        GC.start
        in_use < 10
      end
      assert_equal("GET / ", Net::HTTP.get(origin.url))
      NetHTTP.clear
    end
  ensure
    GC.enable
    give_back_the_rest
  end

  # The stack may still name one of them, which then would count in other tests.
  def give_back_the_rest
    ObjectSpace.each_object(NetHTTP.const_get(:Hold), &:close)
  end

  def forget(origin) = 10.times { http_to(origin).start }

  def test_what_is_part_of_the_key
    http = http_to(Struct.new(:port).new(80))
    key = ->(&change) { NetHTTP.const_get(:Key).of(http.dup.tap(&change)) }
    assert_equal(key.call { nil }, key.call { |h| h.read_timeout = 3 })
    [->(h) { h.ipaddr = "127.0.0.2" }, ->(h) { h.local_host = "127.0.0.1" }, ->(h) { h.use_ssl = true },
     ->(h) { h.proxy_address = "proxy" }].each { |change| refute_equal(key.call { nil }, key.call(&change)) }
    tls = key.call { |h| h.use_ssl = true }
    { ca_file: "a", ca_path: "a", verify_mode: 0, verify_hostname: false, ciphers: "x", min_version: :TLS1_2,
      verify_callback: -> {}, cert_store: OpenSSL::X509::Store.new, ssl_timeout: 3 }.each do |name, value|
      refute_equal(tls, key.call { |h| (h.use_ssl = true) && h.public_send(:"#{name}=", value) }, name)
    end
    proxied = [%w[me a], %w[me b]].map { |user, pass| NetHTTP.const_get(:Key).of(Net::HTTP.new("h", 80, "p", 1, user, pass)) }
    assert_equal(2, proxied.uniq.size)
  end

  def test_stores_that_trust_the_same_are_equal
    stores = Array.new(2) { OpenSSL::X509::Store.new.tap(&:set_default_paths) }
    other = OpenSSL::X509::Store.new
    NetHTTP.disable
    strange = OpenSSL::X509::Store.new
    NetHTTP.enable
    strange.set_default_paths
    keys = [*stores, other, strange].map { |store| NetHTTP.const_get(:Key).comparable(store) }
    assert_equal(keys[0], keys[1])
    assert_equal(3, keys.uniq.size)
    stores[0].purpose = OpenSSL::X509::PURPOSE_SSL_SERVER
    assert_equal(4, [*stores, other, strange].map { |store| NetHTTP.const_get(:Key).comparable(store) }.uniq.size)
  end

  def test_a_fork_begins_anew_and_does_its_parent_no_harm
    origin do |origin|
      session = http_to(origin).start
      session.get("/")
      Net::HTTP.get(origin.url("/idle"))
      told = in_fork do
        [session.get("/session").body, Net::HTTP.get(origin.url("/child")), session.finish,
         NetHTTP.statistics.to_h.values_at(:opened, :reused, :in_use, :idle)]
      end
      assert_equal(["GET /session ", "GET /child ", nil, [2, 0, 0, 2]], told)
      assert_equal(["GET /1 ", "GET /2 "], [session.get("/1").body, Net::HTTP.get(origin.url("/2"))])
      session.finish
      assert_equal(4, origin.connections)
      NetHTTP.clear
    end
  end

  def in_fork
    reader, writer = IO.pipe
    pid = fork do
      reader.close
      writer.write(Marshal.dump(yield))
      writer.close
      exit!(0)
    end
    writer.close
    Marshal.load(reader.read)
  ensure
    Process.wait(pid)
    reader.close
  end
end
