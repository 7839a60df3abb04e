# frozen_string_literal: true

require "test_helper"
require "rack"
require "plait/server"
require_relative "fork_ends"
require_relative "serving"
require "support/fresh_ruby"

class ServerExecutorSelectionTest < Minitest::Test
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

  # On the thread pool it would wait for work without end.
  def test_a_fork_that_comes_back_is_ended
    app = ->(_) { (pid = fork) ? [200, {}, [exit_status(pid).to_s]] : [200, {}, ["child"]] }
    told = errors_of_all do
      serving_aside(:fibers, app, Plait::Server.on(:threads) { true }) { |caller| 2.times { assert_equal("1", caller.get.body) } }
    end
    assert_equal(2, told.scan("that the app has forked came back to the server, and is ended").size)
  end

  # As under Puma.
  def test_without_this_server_the_app_is_just_called
    app = Plait::Server.on(:threads) { true }.new(->(_) { [200, {}, [Thread.current]] })
    assert_equal([Thread.current], app.call({ "PATH_INFO" => "/" }).last)
  end

  # A file that the first request loads would hold up all other requests of a loop.
  def test_the_first_request_loads_nothing
    result = Support::FreshRuby.run(<<~RUBY)
      require "rack"
      require "plait/server"
      app = Plait::Server.on(:threads) { |request| p(request.class, request.path) && nil }.new(->(env) { [200, {}, []] })
      env = Rack::MockRequest.env_for("/a")
      Plait.run(on: :fibers) { 1 }
      before = $LOADED_FEATURES.dup
      Plait.run(on: :fibers) { app.call(env) }
      p($LOADED_FEATURES - before)
    RUBY
    assert_equal("Rack::Request\n\"/a\"\n[]\n", result.out, result.err)
  end

  def test_without_the_gem_rack_the_condition_gets_env
    result = Support::FreshRuby.run(<<~RUBY, flags: ["--disable-gems"], env: { "RUBYOPT" => nil })
      require "plait/server"
      app = Plait::Server.on(:threads) { |env| p env }.new(->(_) { [200, {}, []] })
      Plait.run(on: :fibers) { app.call({ "PATH_INFO" => "/a" }) }
    RUBY
    env = { "PATH_INFO" => "/a" }
    assert_equal("#{env}\n", result.out, result.err)
  end

  def test_in_a_config_ru
    builder = Rack::Builder.new do
      use(Plait::Server.on(:threads), &:get?)
      run ->(_) { [200, {}, ["ok"]] }
    end
    assert_equal(["ok"], builder.to_app.call(Rack::MockRequest.env_for("/")).last)
  end

  def test_what_is_wrong
    assert_match(/:threads, not to :ractors/, refusal { Plait::Server.on(:ractors) })
    assert_match(/no option limit: of Plait::Server.on\(:threads\)/, refusal { Plait::Server.on(:threads, limit: 3) })
    assert_match(/takes a block/, refusal { Plait::Server.on(:threads).new(nil) })
  end

  # The error says what to do instead.
  def test_processes_are_gone
    instead = /Plait\.map\(items, on: :processes\) .* more workers \(workers: N, plait serve --workers N\)/
    assert_match(instead, refusal { Plait::Server.on(:processes, limit: 2) { true } })
  end

  private

  def refusal(&block) = assert_raises(Plait::UsageError, &block).message

  def spin_until
    nil until yield
  end

  def serving_aside(mechanism, app, middleware, &block) = serving(mechanism, middleware.new(app), &block)
end
