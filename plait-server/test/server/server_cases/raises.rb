# frozen_string_literal: true

module ServerCases
  # Exceptions that other threads raise into the threads of a server, as the gem rack-timeout does.
  module Raises
    # As Rack::Timeout::RequestTimeoutException.
    class Late < Exception; end # rubocop:disable Lint/InheritException

    # Raises into the threads of requests that last too long.
    class Watcher
      # @param limit [Numeric] seconds for a request
      # @param within [Boolean] whether it stops when the request is over
      def initialize(app, limit, within: true)
        @app = app
        @hit = []
        @limit = limit
        @within = within
        @lock = Mutex.new
        @due = {}.compare_by_identity
        @thread = Thread.new { watch }
      end

      def call(env)
        key = env["PATH_INFO"].dup.freeze # Array#to_h would copy it otherwise
        @lock.synchronize { @due[key] = [Plait::Deadline.now + @limit.call, Thread.current] }
        @app.call(env)
      ensure
        @lock.synchronize { @due.delete(key) } if @within
      end

      # @return [Array<String>] paths of requests that an exception was meant for
      attr_reader :hit

      def close = @thread.kill.join

      private

      def watch
        loop do
          sleep(0.0005)
          @lock.synchronize do
            now = Plait::Deadline.now
            due, @due = @due.partition { |_, (at, _)| at <= now }.map { |pairs| pairs.to_h.compare_by_identity }
            due.each do |path, (_, thread)|
              @hit << path
              thread.raise(Late, "too late for #{path}")
            end
          end
        end
      end
    end

    def test_an_exception_from_another_thread_ends_the_request_that_it_is_meant_for
      watcher = Watcher.new(method(:slow_or_quick), -> { rand * 0.004 })
      complaints = with_raises(watcher) do
        statuses = Array.new(8) { |name| Thread.new { asked("/#{name}/") } }.map(&:value).reduce(:merge)
        assert_empty(statuses.values - [200, 500])
        assert_empty(statuses.select { |_, status| status == 500 }.keys - watcher.hit)
        refute_empty(watcher.hit)
        # On hybrid a request that seems to block runs on a thread.
        assert_equal(mechanism == :threads, statuses.value?(500)) unless mechanism == :hybrid
      end
      refute_match(/bug in plait/, complaints)
    ensure
      watcher.close
    end

    # Also of those that hit a request that was answered long ago, or nobody.
    def test_exceptions_from_other_threads_end_no_server
      watcher = Watcher.new(method(:slow_or_quick), -> { rand * 0.008 }, within: false)
      with_raises(watcher) { Array.new(8) { |name| Thread.new { asked("/#{name}/") } }.each(&:join) }
    ensure
      watcher.close
    end

    # Net::HTTP connects under a Timeout, so that a call behind an answer needs it as well as an app.
    def test_a_timeout_ends_what_is_called_behind_the_answer
      ended = Queue.new
      serve(lambda do |env|
        env["rack.response_finished"] << lambda do |*|
          Timeout.timeout(0.05) { sleep }
        rescue Timeout::Error => e
          ended << e
        end
        [200, {}, ["ok"]]
      end)
      assert_equal(200, get("/").status)
      assert_instance_of(Timeout::Error, ended.pop)
    end

    private

    # @return [String] what was complained of, at the end of which all is well
    def with_raises(watcher)
      _, complaints = capture_io do
        serve(watcher, lint: false, plan: { notice: ->(_) {} })
        yield
        watcher.close
        10.times { assert_serves }
        wait_until { count(:running).zero? }
      end
      complaints
    end

    # @return [Hash{String => Integer}] statuses by paths; of an answer that was cut 500, too
    def asked(prefix)
      Array.new(150) { |number| "#{prefix}#{"slow" if number.odd?}#{number}" }.to_h do |path|
        [path, get(path).status]
      rescue EOFError, Errno::ECONNRESET
        [path, 500]
      end
    end

    def slow_or_quick(env)
      slow = env["PATH_INFO"].include?("slow")
      sleep(0.003) if slow
      [200, { "content-type" => "text/plain" }, slow ? ["x" * 500].each : ["x"]]
    end
  end
end
