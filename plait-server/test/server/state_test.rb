# frozen_string_literal: true

require "test_helper"
begin
  require "active_support"
  require "active_support/isolated_execution_state"
  require "active_support/code_generator"
  require "active_support/current_attributes"
  require "i18n"
rescue LoadError
  nil # these gems are not installed: bin/setup drivers
end
require "net/http"
require "plait/http"
require "plait/server"

# What an app finds at the current thread and fiber: nothing of another request.
class ServerStateTest < Minitest::Test
  if defined?(ActiveSupport::CurrentAttributes)
    class Current < ActiveSupport::CurrentAttributes
      attribute :user
    end
  end

  MECHANISMS = %i[threads fibers hybrid].freeze
  NAMES = %w[ann bob cid dan eve fay].freeze

  def test_a_request_sees_nothing_of_an_earlier_one
    MECHANISMS.each do |mechanism|
      serve(mechanism, method(:remember)) do |url|
        answers = NAMES.map { |name| Plait::HTTP.get("#{url}/?#{name}").body }
        assert_equal(NAMES.map { |name| "[] #{name}" }, answers, mechanism)
      end
    end
  end

  def test_nor_do_requests_at_the_same_time_see_each_other
    need_gems
    MECHANISMS.product(%i[fiber thread]).each do |mechanism, level|
      with_isolation(level) do
        serve(mechanism, method(:attribute)) do |url|
          answers = Plait.map(NAMES * 10, on: :threads, limit: 6) { |name| Net::HTTP.get(URI("#{url}/?#{name}")) }
          assert_equal((NAMES * 10).map { |name| "nil #{name}" }, answers, [mechanism, level])
        end
      end
    end
  end

  def test_by_http2_too
    need_gems
    MECHANISMS.each do |mechanism|
      serve(mechanism, method(:attribute), http2: true) do |url|
        client = Plait::HTTP::Client.new(http2: :prior_knowledge)
        answers = NAMES.map { |name| client.get("#{url}/?#{name}").body }
        assert_equal(NAMES.map { |name| "nil #{name}" }, answers, mechanism)
      ensure
        client&.close
      end
    end
  end

  def test_a_locale_is_that_of_its_request
    need_gems
    I18n.available_locales = %i[en de fr it]
    locales = I18n.available_locales - [:en]
    MECHANISMS.each do |mechanism|
      serve(mechanism, method(:locale)) do |url|
        answers = Plait.map(locales * 10, on: :threads, limit: 6) { |name| Net::HTTP.get(URI("#{url}/?#{name}")) }
        assert_equal((locales * 10).map { |name| "en #{name} #{name} en" }, answers, mechanism)
      end
    end
  end

  # On the pool of a hybrid server, whose threads are used again as well.
  def test_requests_that_were_moved_to_threads
    block = ->(env) { Plait.offload { remember(env) } }
    serve(:hybrid, block) do |url|
      assert_equal(NAMES.map { |name| "[] #{name}" }, NAMES.map { |name| Plait::HTTP.get("#{url}/?#{name}").body })
    end
  end

  def test_what_one_that_failed_has_left
    MECHANISMS.each do |mechanism|
      failing = ->(env) { env["QUERY_STRING"] == "bob" ? remember(env) : (remember(env) && raise("as told")) }
      serve(mechanism, failing) do |url|
        3.times { assert_equal(500, Plait::HTTP.get("#{url}/?ann").status) }
        assert_equal("[] bob", Plait::HTTP.get("#{url}/?bob").body, mechanism)
      end
    end
  end

  def test_a_request_inherits_a_copy_of_the_fiber_storage
    skip("Ruby #{RUBY_VERSION} has none") unless Fiber.respond_to?(:[])
    Fiber[:plait_caller] = "caller"
    take = ->(_) { answer(Fiber[:plait_caller].to_s).tap { Fiber[:plait_caller] = nil } }
    MECHANISMS.each do |mechanism|
      serve(mechanism, take) { |url| 3.times { assert_equal("caller", Plait::HTTP.get(url).body, mechanism) } }
    end
  ensure
    Fiber[:plait_caller] = nil if Fiber.respond_to?(:[])
  end

  private

  def need_gems
    skip("the gems active_support and i18n are not installed: bin/setup drivers") unless defined?(Current) && defined?(I18n)
  end

  def remember(env)
    name = env["QUERY_STRING"]
    thread = Thread.current
    fiber = Fiber.current
    seen = [thread[:user], thread.thread_variable_get(:user), fiber.instance_variable_get(:@user)]
    seen << Fiber[:user] if Fiber.respond_to?(:[])
    thread[:user] = name
    thread.thread_variable_set(:user, name)
    fiber.instance_variable_set(:@user, name)
    Fiber[:user] = name if Fiber.respond_to?(:[])
    answer("#{seen.compact} #{thread.thread_variable_get(:user)}")
  end

  def attribute(env)
    before = Current.user
    Current.user = env["QUERY_STRING"]
    sleep(0.005)
    answer("#{before.inspect} #{Current.user}")
  end

  def locale(env)
    before = I18n.locale
    inside = I18n.with_locale(env["QUERY_STRING"]) do
      sleep(0.005)
      [I18n.locale, Enumerator.new { |values| values << I18n.locale }.next]
    end
    answer([before, *inside, I18n.locale].join(" "))
  end

  def answer(text) = [200, { "content-type" => "text/plain" }, [text]]

  def with_isolation(level)
    before = ActiveSupport::IsolatedExecutionState.isolation_level
    ActiveSupport::IsolatedExecutionState.isolation_level = level
    yield
  ensure
    ActiveSupport::IsolatedExecutionState.isolation_level = before
  end

  def serve(mechanism, app, **listening)
    server = Plait::Server.new(->(env) { env["rack.errors"] = StringIO.new and app.call(env) }, on: mechanism)
    port = server.listen("tcp://127.0.0.1:0", **listening).port
    thread = server.start
    yield "http://127.0.0.1:#{port}"
  ensure
    server.stop(within: 0)
    thread.join
  end
end
