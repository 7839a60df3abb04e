# frozen_string_literal: true

require "support/fresh_ruby"
require_relative "net_http_origin"

# Under a scheduler, Plait's or Async's: fibers wait together, and share the pool with threads.
class NetHTTPFibersTest < Minitest::Test
  include NetHTTPCases

  LATENCY = 0.1

  def slow(&block)
    origin("/slow" => ->(io, request) { sleep(LATENCY) && io.write(answer(request.path)) }, &block)
  end

  # What comes true decides when requests are answered, however slow the machine is.
  def answering_once(condition, &block)
    route = lambda do |io, request|
      wait_until(timeout: 60, &condition)
      io.write(answer(request.path))
    end
    origin("/slow" => route, &block)
  end

  # Async 2.24 calls IO#timeout of every IO, of the test's own too; Ruby 3.1 does not have it.
  def under_async(count, &block)
    Plait.const_get(:Patches).install if RUBY_VERSION < "3.2"
    Sync { |task| Array.new(count) { |n| task.async { block.call(n) } }.map(&:wait) }
  end

  UNPATCHED = <<~RUBY
    require "plait/http/net_http"
    require "async"
    print Sync { Net::HTTP.get(URI(ARGV[0])) }
    print [IO, IO.singleton_class, Thread, Fiber].flat_map(&:ancestors).map(&:to_s).grep(/Plait::Patches/)
  RUBY

  # From Ruby 3.2 on Async has all that it needs.
  def test_async_patches_no_class_of_a_newer_ruby
    skip("Ruby 3.1 needs IO#timeout") if RUBY_VERSION < "3.2"
    need("async")
    origin do |origin|
      result = Support::FreshRuby.run(UNPATCHED, origin.url("/x").to_s)
      assert_equal("GET /x []", result.out, result.err)
    end
  end

  MECHANISMS = {
    plait: ->(test, count, &block) { Plait.map(0...count, on: :fibers, limit: count, &block) && test },
    async: ->(test, count, &block) { test.under_async(count, &block) && test }
  }.freeze

  MECHANISMS.each do |name, run|
    define_method(:"test_ten_slow_answers_are_awaited_together_under_#{name}") do
      need("async") if name == :async
      asked = nil
      answering_once(-> { asked.call == 10 }) do |origin|
        asked = -> { origin.requests.size }
        seen = Queue.new
        run.call(self, 10) { |n| seen << Net::HTTP.get(origin.url("/slow?#{n}")) }
        assert_equal(Array.new(10) { |n| "/slow?#{n}" }, Array.new(10) { seen.pop }.sort)
        assert_operator(origin.connections, :<=, 10)
        NetHTTP.clear
      end
    end

    define_method(:"test_each_gets_its_own_answer_under_#{name}") do
      need("async") if name == :async
      origin do |origin|
        right = Queue.new
        run.call(self, 50) do |n|
          10.times { |i| right << (Net::HTTP.get(origin.url("/#{n}/#{i}")) == "GET /#{n}/#{i} ") }
        end
        assert_equal([true] * 500, Array.new(500) { right.pop })
        assert_operator(origin.connections, :<=, 50)
        NetHTTP.clear
      end
    end

    define_method(:"test_the_line_under_#{name}") do
      need("async") if name == :async
      NetHTTP.configure(per_key: 2)
      answering_once(-> { counted(:waited) == 6 }) do |origin|
        seen = Queue.new
        run.call(self, 8) { |n| seen << Net::HTTP.get(origin.url("/slow?#{n}")) }
        assert_equal(Array.new(8) { |n| "/slow?#{n}" }, Array.new(8) { seen.pop }.sort)
        assert_equal([2, 6], [origin.connections, counted(:waited)])
        NetHTTP.clear
      end
    end

    define_method(:"test_the_line_has_an_end_under_#{name}") do
      need("async") if name == :async
      NetHTTP.configure(per_key: 1)
      seen = Queue.new
      answering_once(-> { seen.size == 2 }) do |origin|
        run.call(self, 3) do |n|
          seen << http_to(origin, open_timeout: n.zero? ? 60 : LATENCY / 10).get("/slow").code
        rescue Net::OpenTimeout => e
          seen << e.class.name
        end
        assert_equal(["200", "Net::OpenTimeout", "Net::OpenTimeout"], Array.new(3) { seen.pop }.sort)
        NetHTTP.clear
      end
    end

    define_method(:"test_with_threads_at_the_same_time_under_#{name}") do
      need("async") if name == :async
      NetHTTP.configure(per_key: 3)
      origin do |origin|
        wrong = Queue.new
        work = lambda do |who|
          20.times { |i| Net::HTTP.get(origin.url("/#{who}/#{i}")) == "GET /#{who}/#{i} " or wrong << who }
        end
        threads = Array.new(4) { |n| Thread.new { work.call("thread#{n}") } }
        run.call(self, 8) { |n| work.call("fiber#{n}") }
        threads.each(&:join)
        assert_equal(0, wrong.size)
        assert_operator(origin.connections, :<=, 3)
        NetHTTP.clear
      end
    end
  end

  def test_a_fiber_that_is_cancelled_in_the_line_leaves_it
    NetHTTP.configure(per_key: 1)
    slow do |origin|
      holder = Thread.new { Net::HTTP.get(origin.url("/slow")) }
      wait_until { origin.requests.any? }
      assert_raises(Plait::TimeoutError) { Plait.map([1], on: :fibers, timeout: 0.02) { Net::HTTP.get(origin.url("/slow")) } }
      assert_equal(0, NetHTTP.statistics.waiting)
      assert_equal("/slow", holder.value)
      assert_equal("GET /next ", Net::HTTP.get(origin.url("/next")))
      NetHTTP.clear
    end
  end

  def test_an_async_task_that_is_stopped_closes_its_connection
    need("async")
    stopped = false
    answering_once(-> { stopped }) do |origin|
      Sync do |task|
        child = task.async { Net::HTTP.get(origin.url("/slow")) }
        task.with_timeout(10) { sleep(0.005) until origin.requests.any? }
        child.stop
        stopped = true
        assert_equal("GET /next ", Net::HTTP.get(origin.url("/next")))
      end
      assert_equal([2, 1], [origin.connections, counted(:discarded)])
      NetHTTP.clear
    end
  end

  def test_nothing_is_left_behind
    slow do |origin|
      Net::HTTP.get(origin.url)
      NetHTTP.clear
      wait_until { origin.open_connections.zero? }
      before = Support::Leaks::Holdings.now
      Plait.map(0...10, on: :fibers, timeout: 0.05, on_error: :skip) { Net::HTTP.get(origin.url("/slow")) }
      NetHTTP.clear
      wait_until { origin.open_connections.zero? }
      left = Support::Leaks::Holdings.now.since(before)
      assert_empty(left.grep(/descriptor/).grep_v(/socket/))
      assert_equal(0, NetHTTP.statistics.in_use)
    end
  end
end
