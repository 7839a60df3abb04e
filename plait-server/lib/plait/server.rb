# frozen_string_literal: true

require "socket"
require "plait"
# Where it is required by name: opening the constant must not load it a second time.
Plait.autoload(:Server, __FILE__) if Plait.autoload?(:Server)

module Plait
  # Named before its parts are loaded: each part opens it, and the autoload of Plait must find it.
  class Server; end # rubocop:disable Lint/EmptyClass
end

require "plait/io/endpoint"
require "plait/io/listener"
require "plait/io/native"
require "plait/io/stop_signal"
require "plait/io/workers"
require "plait/mechanisms/scheduler"
require "plait/protocols/http2/frames"
require_relative "server/executor_selection"
require_relative "server/native_core"
require_relative "server/options"
require_relative "server/shift"

module Plait # rubocop:disable Style/OneClassPerFile -- see above
  # Serves a Rack app over HTTP/1.1 and HTTP/2, on threads, fibers, or fibers with a thread pool: by one option, without a line
  # changed in the app. Connections between two requests cost a descriptor and a hundred bytes.
  #
  # @example
  #   server = Plait::Server.new(app, on: :fibers, bind: "tcp://127.0.0.1:9292")
  #   trap(:TERM) { server.stop }
  #   server.run
  class Server
    # Seconds that running requests have when the server ends.
    DRAIN = 30
    # Connections that wait to be accepted, as far as the kernel allows.
    BACKLOG = 4096

    # Middleware that runs some requests of an app on the thread pool of the loop of fibers: an app that mostly waits can compute,
    # too. Under servers without such a loop it calls the app.
    #
    # An answer is collected as a whole before it leaves, except a file's, or one that is streamed by a call.
    # @example in a config.ru
    #   use Plait::Server.on(:threads) { |request| request.path.start_with?("/reports") }
    # @param mechanism [Symbol] :threads
    # @yieldparam request [Rack::Request] (without the gem rack: env)
    # @yieldreturn [Boolean] whether the request moves
    # @return [#new] for `use`
    # @raise [UsageError]
    def self.on(mechanism, **options, &condition) = ExecutorSelection.new(mechanism, options, condition)

    # @param app [#call] a Rack app
    # @param bind [String, Array<String>, nil] where to listen, see {#listen}
    # @param options [Hash]
    # @option options [Symbol] :on :threads, :fibers, :hybrid
    # @option options [Integer, nil] :limit requests that run at once
    # @option options [Integer] :queue complete requests that wait for that; further ones are answered 503 with Retry-After
    # @option options [Integer, nil] :connections at most; others wait in the kernel; nil: as many as there are descriptors, but
    #   for some that are left to the app
    # @option options [Integer, nil] :requests on one connection; then it is closed
    # @option options [Hash, Protocols::HTTP1::Limits] :limits of what is received
    # @option options [Integer] :spool bytes of a request's body from which it is kept in a file
    # @option options [String, nil] :folder of these files
    # @option options [Numeric, nil] :idle_timeout seconds between two requests
    # @option options [Numeric, nil] :head_timeout seconds for the whole head of a request
    # @option options [Numeric, nil] :body_timeout seconds for each 64 KiB of a request's body
    # @option options [Numeric, nil] :write_timeout seconds for each 64 KiB of an answer that the peer does not take at once
    # @option options [Numeric, nil] :queue_timeout seconds that a request waits for running ones; then it is answered 503
    # @option options [Numeric] :handshake_timeout seconds for TLS
    # @option options [Integer, nil] :workers processes that serve the same sockets, each with these bounds of its own; nil: this
    #   one does
    # @option options [Watch, nil] :watch sees all requests
    # @option options [Numeric, nil] :blocking seconds for which a request may hold up the loop of fibers before :watch reports
    #   it; each switch gets a little slower; nil: a second, seen from outside at no cost
    # @option options [Io::Workers::Plan, Hash] :plan how workers start, are watched, and end, see {Io::Workers::Plan}
    # @option options [Boolean] :early_hints whether apps find `rack.early_hints`
    # @raise [UsageError]
    # @raise [ListenError]
    # @raise [UnsupportedError] without the C extension, or on another system than Linux
    def initialize(app, bind: nil, **options)
      raise UsageError, "an app answers to call(env), #{app.inspect} does not" unless app.respond_to?(:call)

      NativeCore.check
      @app = app
      @options = Options.build(options)
      @listeners = []
      @owners = {}.compare_by_identity
      @stop_signal = @options.life&.stop_signal || Io::StopSignal.new
      Array(bind).each { |where| listen(where) }
    end

    # Opens a socket; connections wait there until {#run}.
    # @param where [String, Io::Endpoint, Io::Listener] as "tcp://127.0.0.1:9292", "unix:///run/app.sock",
    #   "ssl://0.0.0.0:9293"
    # @param tls [Hash, Io::TLS::Server, nil] for ssl://, see {Io::TLS::Server#initialize}: at least `certificate:` and `key:`;
    #   of a Hash HTTP/2 is offered too, where the gem http-2 is there
    # @param worker [Integer, nil] the one that alone accepts there, from 0 on; nil: all of them do
    # @param options [Hash] see {Io::Listener.open}
    # @return [Io::Endpoint] with the port that was given
    # @raise [ListenError]
    def listen(where, tls: nil, worker: nil, **options)
      tls = tls_server(tls) if tls.is_a?(Hash)
      where = Io::Listener.open(Io::Endpoint.parse(where), backlog: BACKLOG, tls: tls, **options) unless where.is_a?(Io::Listener)
      @listeners << where
      @owners[where] = worker
      where.endpoint
    end

    # @return [Array<Io::Endpoint>]
    def endpoints = @listeners.map(&:endpoint).uniq

    # Serves until {#stop}.
    # @return [void]
    # @raise [UsageError] when it listens nowhere, or has run before
    def run
      raise UsageError, "the server listens nowhere: call listen first" if @listeners.empty?
      raise UsageError, "a server runs once" if @ran

      @ran = true
      begin
        @options.workers ? supervise : serve
      ensure
        @shift&.close
        @listeners.each(&:close)
      end
    end

    # {#run} in a thread of its own.
    # @return [Thread]
    def start = Thread.new { run }.tap { |thread| thread.name = "plait server" }

    # Ends {#run}: nothing new is taken, running requests are answered, as far as there is time, and all connections are closed.
    # Does not wait for that. From any thread, fiber or signal handler.
    # @param within [Numeric] seconds
    # @return [void]
    def stop(within: DRAIN) = @stop_signal.stop(Deadline.after(within))

    # Replaces all workers, one after another, without a failed request: each takes no new connections as soon as the one in its
    # place serves. They get the app as it is in this process. Does not wait for that. From any thread, fiber or signal
    # handler.
    # @return [void]
    # @raise [UsageError] without workers
    def restart
      raise UsageError, "there are no workers to replace: give the server workers:" unless @options.workers

      @workers&.restart
    end

    # Opens logs again that were renamed; in all workers.
    # @return [void]
    def reopen
      @options.plan.on_reopen.each(&:call)
      @workers&.reopen
    end

    # @return [Hash{Symbol => Integer}] as counted until now; of workers together, as each of them tells once a second
    def statistics
      return @shift&.statistics || {} unless @workers

      report = @workers.report
      report[:gauges].merge(report[:counters])
    end

    # @return [String]
    def inspect = "#<#{self.class} #{endpoints.join(" ")}>"

    private

    def tls_server(words)
      require "plait/io/tls"
      Io::TLS::Server.new(alpn: Protocols::HTTP2::ALPN, **words)
    end

    def supervise
      life = @options.life
      @options.plan.on_end << -> { @listeners.each(&:close) } # new connections are refused, and do not wait in vain
      @workers = Io::Workers.new(@options.workers, @stop_signal, @options.plan, uplink: life&.link) { |worker| begin_as(worker) }
      @workers.run { life&.ready(@workers) }
    end

    def begin_as(worker)
      @stop_signal = worker.stop_signal
      @workers = nil
      @listeners.select! { |listener| [nil, worker.index].include?(@owners[listener]) }
      serve(worker)
    end

    def serve(life = @options.life)
      own_loop = Fiber.current_scheduler.nil?
      watching_the_loop do
        Plait.run(on: @options.on, on_error: :collect) do |scope|
          @shift = Shift.new(scope, @app, @options, @listeners, @stop_signal, index: life&.index)
          life&.ready(@shift)
          @shift.run
        ensure
          Scheduler.current&.cancel_scheduled if own_loop # what apps have started by Fiber.schedule and left behind
        end
      end
    end

    def watching_the_loop(&block)
      return yield unless @options.blocking && @options.watch && @options.on != :threads

      @options.watch.around_loop(@options.blocking, &block)
    end
  end
end
