# frozen_string_literal: true

require "test_helper"
require "rack"
require "plait/server"
require_relative "fork_ends"
require_relative "serving"
require "support/fresh_ruby"

class ServerDetourTest < Minitest::Test
  include ForkEnds
  include Serving

  # A body that tells on which threads it was asked and closed.
  class Telling
    def initialize(seen) = @seen = seen

    def each
      @seen << Thread.current
      yield "told"
    end

    def close = @seen << Thread.current
  end

  def teardown = Plait::Server::Detour::OnProcesses.all.clear

  def test_on_threads
    seen = []
    app = lambda do |env|
      seen << Thread.current
      [200, {}, env["PATH_INFO"] == "/aside" ? Telling.new(seen) : ["here"]]
    end
    serving_aside(:fibers, app, Plait::Server.on(:threads) { |request| request.path == "/aside" }) do |caller|
      assert_equal("here", caller.get("/").body)
      assert_equal("told", caller.get("/aside").body)
    end
    assert_equal(2, seen.uniq.size)
    assert_equal(1, seen.drop(1).uniq.size, "the app was called on one thread, its body asked or closed on another")
  end

  def test_the_loop_goes_on_meanwhile
    gate = Thread::Queue.new
    app = lambda do |env|
      spin_until { !gate.empty? } if env["PATH_INFO"] == "/aside"
      [200, {}, ["done"]]
    end
    serving_aside(:fibers, app, Plait::Server.on(:threads) { |request| request.path == "/aside" }) do |caller|
      aside = connect.send("GET /aside HTTP/1.1\r\nHost: a\r\n\r\n")
      assert_equal("done", caller.get("/").body)
      gate << true
      assert_equal("done", aside.hear.body)
      aside.close
    end
  end

  # On the thread pool it would wait for work for ever, and in a process it would take that of its parent.
  %i[threads processes].each do |mechanism|
    define_method(:"test_a_fork_that_comes_back_is_ended_on_#{mechanism}") do
      app = ->(_) { (pid = fork) ? [200, {}, [exit_status(pid).to_s]] : [200, {}, ["child"]] }
      told = errors_of_all do
        serving_aside(:fibers, app, Plait::Server.on(mechanism) { true }) { |caller| 2.times { assert_equal("1", caller.get.body) } }
      end
      assert_equal(2, told.scan("that the app has forked came back to the server, and is ended").size)
    end
  end

  %i[threads fibers].each do |mechanism|
    define_method(:"test_on_processes_from_#{mechanism}") do
      app = lambda do |env|
        answer = [Process.pid, env["REQUEST_METHOD"], env["QUERY_STRING"], env["rack.input"]&.read].join(" ")
        [201, { "x-a" => "b" }, [answer]]
      end
      assert_no_leaks do
        serving_aside(mechanism, app, Plait::Server.on(:processes) { |request| request.path == "/aside" }) do |caller|
          assert_equal("#{Process.pid} GET a=b ", caller.get("/?a=b").body)
          caller.send("POST /aside?a=b HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody")
          answer = caller.hear
          assert_equal([201, "b"], [answer.status, answer.fields["x-a"]])
          assert_match(/\A\d+ POST a=b body\z/, answer.body)
          refute_equal(Process.pid, Integer(answer.body[/\A\d+/]))
        end
      end
    end
  end

  def test_processes_compute_at_the_same_time_and_no_more_of_them_than_allowed
    app = ->(_) { sleep(0.2) && [200, {}, [Process.pid.to_s]] }
    serving_aside(:fibers, app, Plait::Server.on(:processes, limit: 2) { true }) do |caller|
      callers = Array.new(5) { connect } << caller
      callers.each { |one| one.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n") }
      assert_equal(2, callers.map { |one| one.hear.body }.uniq.size)
      callers.first(5).each(&:close)
    end
  end

  def test_one_that_dies_fails_its_request_only
    app = ->(env) { env["PATH_INFO"] == "/die" ? Process.kill(:KILL, Process.pid) : [200, {}, [Process.pid.to_s]] }
    serving_aside(:fibers, app, Plait::Server.on(:processes, limit: 1) { true }) do |caller|
      first = caller.get.body
      assert_equal(500, caller.get("/die").status)
      second = connect
      refute_equal(first, second.get.body)
      second.close
    end
    assert_match(/the process that ran this request has died before it answered \(Plait::WorkerDied\)/, @errors.string)
  end

  def test_what_is_raised_there
    app = ->(_) { raise ArgumentError, "not so" }
    serving_aside(:fibers, app, Plait::Server.on(:processes) { true }) { |caller| assert_equal(500, caller.get.status) }
    assert_match(/not so \(ArgumentError\)/, @errors.string)
    assert_match(/detour_test\.rb/, @errors.string)
  end

  def test_what_can_not_travel_is_named
    app = ->(_) { [200, {}, []] }
    sets = ->(inner) { ->(env) { inner.call(env.merge("my.lock" => Mutex.new)) } }
    serving_aside(:fibers, app, Plait::Server.on(:processes) { true }, outer: sets) { |caller| assert_equal(500, caller.get.status) }
    assert_match(/env\["my\.lock"\] \(.*Mutex\) can't travel to another process: put `use Plait::Server\.on/, @errors.string)
  end

  def test_a_streamed_answer_can_not_come_from_there
    serving_aside(:fibers, ->(_) { [200, {}, :close.to_proc] }, Plait::Server.on(:processes) { true }) do |caller|
      assert_equal(500, caller.get.status)
    end
    assert_match(/streamed by a call, can't come from another process/, @errors.string)
  end

  # In the words that it has here.
  def test_what_is_no_answer_there
    closed, writer = IO.pipe
    body = Struct.new(:writer) { def close = writer.write("closed") }.new(writer)
    bad = { "/none" => [nil, /an app returns \[status, headers, body\], not nil/],
            "/status" => [[nil, {}, body], /a status is 101, or a whole number from 200 to 999, not nil/],
            "/headers" => [[200, nil, []], /headers are a Hash of names and values, not nil/],
            "/body" => [[200, {}, 5], /a body has each, or call, and Integer has neither/] }
    app = ->(env) { bad.fetch(env["PATH_INFO"]).first }
    serving_aside(:fibers, app, Plait::Server.on(:processes, limit: 1) { true }) do |_|
      bad.each do |path, (_, words)|
        caller = connect
        assert_equal(500, caller.get(path).status)
        caller.close
        assert_match(words, @errors.string)
      end
    end
    assert_equal("closed", closed.readpartial(100))
  ensure
    [closed, writer].each(&:close)
  end

  # As before Rack 3.
  def test_headers_that_are_pairs
    app = ->(_) { [200, [%w[set-cookie a=1], %w[set-cookie b=2]], ["text"]] }
    serving_aside(:fibers, app, Plait::Server.on(:processes) { true }) do |caller|
      assert_includes(caller.get.head, "set-cookie: a=1\r\nset-cookie: b=2\r\n")
    end
  end

  def test_what_an_app_wants_to_know_in_the_end_is_told_there
    reader, writer = IO.pipe
    app = lambda do |env|
      env["rack.response_finished"] << ->(_, status, _, error) { writer.write("#{status} #{error.inspect}") }
      [204, {}, []]
    end
    serving_aside(:fibers, app, Plait::Server.on(:processes) { true }, &:get)
    assert_equal("204 nil", reader.readpartial(100))
  ensure
    [reader, writer].each(&:close)
  end

  def test_workers_have_processes_of_their_own_that_boot
    app = ->(_) { [200, {}, [$booted.to_s]] } # rubocop:disable Style/GlobalVars -- of its process
    plan = { on_boot: [->(index) { $booted = "worker #{index} in #{Process.pid}" }] } # rubocop:disable Style/GlobalVars
    serving_aside(:fibers, app, Plait::Server.on(:processes) { true }, workers: 1, plan: plan) do |caller|
      assert_match(/\Aworker 0 in \d+\z/, text = caller.get.body)
      refute_includes(server_pids, Integer(text[/\d+\z/]))
    end
  end

  # As under Puma.
  def test_without_this_server_the_app_is_just_called
    %i[threads processes].each do |mechanism|
      app = Plait::Server.on(mechanism) { true }.new(->(_) { [200, {}, [Thread.current, Process.pid]] })
      assert_equal([Thread.current, Process.pid], app.call({ "PATH_INFO" => "/" }).last)
    end
  end

  # What is loaded at the first request has all others of a loop wait.
  def test_the_first_request_loads_nothing
    %i[threads processes].each do |mechanism|
      result = Support::FreshRuby.run(<<~RUBY)
        require "rack"
        require "plait/server"
        app = Plait::Server.on(:#{mechanism}) { |request| p(request.class, request.path) && nil }.new(->(env) { [200, {}, []] })
        app.instance_variable_set(:@pool, Struct.new(:ours?).new(true))
        env = Rack::MockRequest.env_for("/a")
        Plait.run(on: :fibers) { 1 }
        before = $LOADED_FEATURES.dup
        Plait.run(on: :fibers) { app.call(env) }
        p($LOADED_FEATURES - before)
      RUBY
      assert_equal("Rack::Request\n\"/a\"\n[]\n", result.out, result.err)
    end
  end

  def test_without_the_gem_rack_the_condition_gets_env
    result = Support::FreshRuby.run(<<~RUBY, flags: ["--disable-gems"], env: { "RUBYOPT" => nil })
      require "plait/server"
      app = Plait::Server.on(:threads) { |env| p env }.new(->(_) { [200, {}, []] })
      Plait.run(on: :fibers) { app.call({ "PATH_INFO" => "/a" }) }
    RUBY
    assert_equal(%({"PATH_INFO"=>"/a"}\n), result.out, result.err)
  end

  def test_in_a_config_ru
    builder = Rack::Builder.new do
      use(Plait::Server.on(:threads), &:get?)
      run ->(_) { [200, {}, ["ok"]] }
    end
    assert_equal(["ok"], builder.to_app.call(Rack::MockRequest.env_for("/")).last)
  end

  def test_what_is_wrong
    assert_match(/:threads or :processes, not :ractors/, refusal { Plait::Server.on(:ractors) })
    assert_match(/no option limit: of Plait::Server.on\(:threads\)/, refusal { Plait::Server.on(:threads, limit: 3) })
    assert_match(/takes a block/, refusal { Plait::Server.on(:threads).new(nil) })
  end

  private

  def refusal(&block) = assert_raises(Plait::UsageError, &block).message

  def spin_until
    nil until yield
  end

  # Some of the app's requests are moved by the middleware; the outer one sees all of them.
  def serving_aside(mechanism, app, middleware, outer: ->(inner) { inner }, **options, &block)
    serving(mechanism, outer.call(middleware.new(app)), **options, &block)
  end

  def server_pids = @server.instance_variable_get(:@workers).pids
end
