# frozen_string_literal: true

module Plait
  class Server
    # Sees each request from when the app is called until all of the answer was given to the kernel: for the access log, and for
    # the figures that {Metrics} shows. Without either there is no watch, and no cost.
    #
    # Apps find in env: `plait.began` (monotonic seconds), `plait.queued` (seconds that the request has waited, if all that
    # could have run it were busy) and, where {Gvl} is there, in the end `plait.gvl_wait`.
    class Watch
      # Of an app that has raised.
      FAILED = 500
      # Routes counted apart; clients can make up any number.
      ROUTES = 200
      # Seconds in which a route that blocks the loop is reported once.
      PAUSE = 60
      # The request of a fiber, where other threads can see it.
      CURRENT = :plait_request

      # @param notice [#call] called with a line for the operator
      def initialize(log: nil, notice: ->(_) {}, gvl: Gvl.new)
        @log = log
        @notice = notice
        @gvl = gvl
        @statuses = Hash.new(0)
        @handling = Buckets.new
        @queueing = Buckets.new
        @received = @sent = 0
        @blocked = Hash.new(0)
        @reported = {}
        @lock = Mutex.new
      end

      # @return [#call] the app, seen by this
      def over(app)
        lambda do |env|
          env["plait.began"] = Deadline.now
          @gvl.begin(env)
          Thread.current[CURRENT] = env
          env["rack.response_finished"] << self
          app.call(env).tap { |response| env["plait.length"] = length_of(*response) }
        end
      end

      # As one of `rack.response_finished`.
      def call(env, status, _headers, error)
        seconds = Deadline.now - env["plait.began"]
        status = status && !error ? Integer(status) : FAILED
        Thread.current[CURRENT] = nil
        @gvl.finish(env)
        count(env, status, seconds)
        @log&.add(env, status, seconds)
      end

      # To be called with what {Scheduler::Watchdog} has seen; the fiber that blocks its loop is still the current one there.
      # @param thread [Thread] of the loop
      def blocked(report, thread)
        env = thread[CURRENT]
        route = env ? Route.of(env) : "something beside the requests"
        @notice.call("#{route}: #{report}") if first_for_long?(route)
      end

      # Puts a loop of fibers in place that reports to {#blocked}; mechanisms run on the loop that the thread has already.
      # @param seconds [Numeric] see {Scheduler#initialize}
      # @return [Object] what the block returns
      def around_loop(seconds)
        thread = Thread.current
        Fiber.set_scheduler(Scheduler.new(blocking: ->(report) { blocked(report, thread) }, threshold: seconds))
        begin
          yield
        ensure
          Fiber.set_scheduler(nil)
        end
      end

      # @return [Hash{Symbol => Object}] counted until now
      def counters
        @lock.synchronize do
          { responses: @statuses.dup, handling: @handling.to_h, queueing: @queueing.to_h, received: @received, sent: @sent,
            blocked: @blocked.dup, log_lost: @log&.lost || 0, gvl_wait: @gvl.total }
        end
      end

      private

      def count(env, status, seconds)
        @lock.synchronize do
          @statuses[status] += 1
          @handling.add(seconds)
          @queueing.add(env["plait.queued"] || 0.0)
          @received += env["CONTENT_LENGTH"].to_i
          @sent += env["plait.length"].to_i
        end
      end

      def first_for_long?(route)
        now = Deadline.now
        @lock.synchronize do
          route = "others" unless @blocked.key?(route) || @blocked.size < ROUTES
          @blocked[route] += 1
          before = @reported[route]
          @reported[route] = now if before.nil? || now - before > PAUSE
          @reported[route] == now
        end
      end

      # @return [Integer, nil] bytes of the body; nil: unknown before it is sent
      def length_of(_status = nil, headers = nil, body = nil, *)
        text = headers["content-length"] || headers["Content-Length"] if headers.respond_to?(:key?)
        return Integer(text, exception: false) if text

        body.sum(&:bytesize) if body.instance_of?(Array) && body.all?(String)
      end

      # How many times something took how long.
      class Buckets
        # Seconds, each the most that belongs into its bucket.
        BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10].freeze

        def initialize
          @counts = Array.new(BOUNDS.size + 1, 0)
          @sum = 0.0
        end

        def add(seconds)
          @counts[BOUNDS.bsearch_index { |bound| seconds <= bound } || BOUNDS.size] += 1
          @sum += seconds
        end

        # @return [Hash] `counts:` (index of the bucket => how many), and `sum:` in seconds
        def to_h = { counts: @counts.each_with_index.to_h { |count, index| [index, count] }, sum: @sum }
      end

      # How long a request waited for Ruby's lock while it was run: on threads others compute meanwhile. Ruby tells extensions
      # since 3.2; the gem gvltools makes that a method. Where it is loaded, and its LocalTimer enabled, this is there. On fibers,
      # which share a thread, it is what the thread has waited meanwhile.
      class Gvl
        # In a second.
        NANOSECONDS = 1e9

        def initialize(timer = Gvl.timer)
          @timer = timer
          @total = 0.0
          @lock = Mutex.new
        end

        # @return [#monotonic_time, nil] GVLTools::LocalTimer, enabled
        def self.timer
          return unless defined?(::GVLTools::LocalTimer) && ::GVLTools::LocalTimer.respond_to?(:monotonic_time)

          ::GVLTools::LocalTimer if !::GVLTools::LocalTimer.respond_to?(:enabled?) || ::GVLTools::LocalTimer.enabled?
        end

        def begin(env) = (env["plait.gvl"] = @timer.monotonic_time if @timer)

        # @param env [Hash] in which `plait.gvl_wait` are seconds then
        def finish(env)
          before = env.delete("plait.gvl") or return
          seconds = env["plait.gvl_wait"] = [@timer.monotonic_time - before, 0].max / NANOSECONDS
          @lock.synchronize { @total += seconds }
        end

        # @return [Float] seconds, of all requests
        attr_reader :total
      end

      # What a request is called, among all that run the same code: as the framework has it, or by the beginning of its path.
      module Route
        # Characters; clients can send paths of any length, in any bytes.
        MOST = 100

        module_function

        # @return [String] "GET /users/:id", "users#show" or "GET /users", in UTF-8
        def of(env) = readable(env["sinatra.route"] || action(env["action_dispatch.request.path_parameters"]) || beginning(env))

        def readable(text) = text.to_s.dup.force_encoding(Encoding::UTF_8).scrub("?")[0, MOST]

        def action(parameters)
          "#{parameters[:controller]}##{parameters[:action]}" if parameters && parameters[:controller]
        end

        def beginning(env)
          path = env["PATH_INFO"].to_s
          "#{env["REQUEST_METHOD"]} #{path[0, path.index("/", 1) || path.size]}"
        end
      end
    end
    private_constant :Watch
  end
end
