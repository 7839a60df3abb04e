# frozen_string_literal: true

require "test_helper"
require "plait/server"
require "plait/server/watch"
require_relative "serving"

class ServerWatchTest < Minitest::Test
  include Serving

  # Time that only the test moves.
  class Timer
    attr_accessor :monotonic_time
  end

  def setup
    @notices = []
    @watch = Plait::Server.const_get(:Watch).new(notice: ->(line) { @notices << line })
  end

  def test_what_is_counted
    serving_watched(:threads, ->(env) { answer(env) }) do |caller|
      assert_equal([200, 404], [caller.get("/").status, caller.get("/none").status])
      caller.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc")
      caller.hear
      caller.get("/raises")
    end
    counters = @watch.counters
    assert_equal({ 200 => 2, 404 => 1, 500 => 1 }, counters[:responses])
    assert_equal(4, counters[:handling][:counts].values.sum)
    assert_equal([3, 2 + 2 + 4], counters.values_at(:received, :sent))
  end

  def test_how_long_a_request_has_waited
    gate = Thread::Queue.new
    seen = Thread::Queue.new
    serving_watched(:fibers, ->(env) { (seen << env["plait.queued"]) && gate.pop && [200, {}, []] }, limit: 1) do |first|
      first.send("GET /1 HTTP/1.1\r\nHost: a\r\n\r\n")
      assert_nil(seen.pop)
      second = connect.send("GET /2 HTTP/1.1\r\nHost: a\r\n\r\n")
      wait_until { @server.statistics[:waiting] == 1 }
      sleep(0.05) # that is what is measured
      2.times { gate << true }
      assert_operator(seen.pop, :>=, 0.04)
      [first, second].each(&:hear)
      second.close
    end
    assert_operator(@watch.counters[:queueing][:sum], :>=, 0.04)
  end

  # Until it is told: on a machine that has no time for anybody, that may take a while, and others may be told of, too.
  def test_who_holds_up_the_loop
    block = lambda do
      give_up = Plait::Deadline.after(20)
      nil until give_up.expired? || @notices.any? { |line| line.start_with?("GET /slow: ") }
    end
    app = lambda do |env|
      sleep(0.01)
      block.call if env["PATH_INFO"].start_with?("/slow")
      [200, {}, []]
    end
    serving_watched(:fibers, app, blocking: 0.75) do |caller|
      others = Array.new(3) { |index| connect.tap { |other| other.get("/quick/#{index}") } }
      others.each { |other| other.send("GET /quick HTTP/1.1\r\nHost: a\r\n\r\n") }
      caller.get("/slow/1")
      others.each(&:hear).each(&:close)
    end
    assert_equal(1, @watch.counters[:blocked]["GET /slow"])
    assert_match(%r{^GET /slow: the event loop was blocked for \d+\.\d+ s at #{__FILE__}:\d+}, @notices.join("\n"))
  end

  # Without a word in the configuration, and without a watch.
  %i[fibers hybrid].each do |mechanism|
    define_method("test_a_loop_on_#{mechanism}_that_stands_still_is_told_after_a_second") do
      told = []
      app = lambda do |env|
        give_up = Plait::Deadline.after(60)
        nil until give_up.expired? || env["PATH_INFO"] == "/" || told.grep(%r{/slow/7}).any?
        [200, {}, [env["PATH_INFO"]]]
      end
      serving(mechanism, app, plan: { notice: ->(line) { told << line } }) do |caller|
        assert_equal("/slow/7", caller.get("/slow/7").body)
        assert_equal("/", caller.get("/").body)
      end
      assert_match(%r{\AGET /slow/7 has held up the event loop for \d+ s, .*\n\t#{__FILE__}:\d+}m, told.grep(%r{/slow/7}).first)
    end
  end

  def test_how_long_a_request_has_waited_for_the_lock
    timer = Timer.new.tap { |one| one.monotonic_time = 1_000_000_000 }
    @watch = Plait::Server.const_get(:Watch).new(gvl: Plait::Server.const_get(:Watch)::Gvl.new(timer))
    serving_watched(:threads, ->(_) { timer.monotonic_time += 250_000_000; [200, {}, []] }) { |caller| caller.get("/") } # rubocop:disable Style/Semicolon
    assert_in_delta(0.25, @watch.counters[:gvl_wait])
  end

  # The gem needs what Ruby tells since 3.2.
  def test_how_long_requests_on_threads_wait_for_the_lock_of_a_real_ruby
    begin
      require "gvltools"
    rescue LoadError
      skip("the gem gvltools, for Ruby 3.2 or later, is not installed: bin/setup test")
    end
    GVLTools::LocalTimer.enable
    @watch = Plait::Server.const_get(:Watch).new
    block = -> { began = Plait::Deadline.now; nil until Plait::Deadline.now - began > 0.3 } # rubocop:disable Style/Semicolon
    serving_watched(:threads, ->(_) { block.call && [200, {}, []] }) do |caller|
      callers = [caller, connect, connect].each { |each| each.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n") }
      callers.each(&:hear).drop(1).each(&:close)
    end
    assert_operator(@watch.counters[:gvl_wait], :>, 0.2, "seconds that three of 0.3 s have waited")
  ensure
    GVLTools::LocalTimer.disable if defined?(GVLTools)
  end

  { { "sinatra.route" => "GET /users/:id" } => "GET /users/:id",
    { "action_dispatch.request.path_parameters" => { controller: "users", action: "show" } } => "users#show",
    { "REQUEST_METHOD" => "GET", "PATH_INFO" => "/users/7" } => "GET /users",
    { "REQUEST_METHOD" => "GET", "PATH_INFO" => "/" } => "GET /" }.each do |env, name|
    define_method(:"test_route_#{name}") { assert_equal(name, Plait::Server.const_get(:Watch)::Route.of(env)) }
  end

  def test_what_clients_send_is_cut_and_readable_as_a_route
    route = Plait::Server.const_get(:Watch)::Route
    long = route.of({ "REQUEST_METHOD" => "GET", "PATH_INFO" => "/#{"x" * 7000}" })
    assert_equal("GET /#{"x" * 95}", long)
    assert_equal("GET /caf?", route.of({ "REQUEST_METHOD" => "GET", "PATH_INFO" => "/caf\xE9".b }))
    assert_equal(["GET /café", Encoding::UTF_8], route.of({ "REQUEST_METHOD" => "GET", "PATH_INFO" => "/café".b }).then do |text|
      [text, text.encoding]
    end)
  end

  private

  def answer(env)
    raise "broken" if env["PATH_INFO"] == "/raises"
    return [404, { "content-length" => "4" }, ["none"]] if env["PATH_INFO"] == "/none"

    [200, {}, ["ok"]]
  end

  def serving_watched(mechanism, app, **options, &block) = serving(mechanism, app, watch: @watch, **options, &block)
end
