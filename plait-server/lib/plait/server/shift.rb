# frozen_string_literal: true

require "etc"
require_relative "answer"
require_relative "acceptor"
require_relative "acceptor/tls"
require_relative "native_core"
require_relative "options"
require_relative "reply"
require_relative "standstill"
require "plait/mechanisms/thread_guard"
require_relative "watch"

module Plait
  class Server
    # Which requests run on the thread pool. A request runs in its fiber as long as it waits there. What has held the loop
    # for long without a single wait gains nothing from a fiber and costs all the others: after two such requests in a row
    # requests like them run on the pool, until one is quick there. Alike are requests with the same method and the same
    # first segment of the path.
    #
    # The core (plait-io/ext/plait_io/server/rb_server_hybrid.c) asks only after a slow request: a quick one costs nothing.
    class Hybrid
      # Seconds below which a request on the pool is quick.
      QUICK = 0.01
      ENOUGH = 2
      # Kinds of requests counted apart; clients can make up any number.
      KINDS = 1024

      def initialize
        @in_a_row = {}
      end

      # @return [Boolean] whether requests like it hold the loop
      def blocking?(env) = @in_a_row.fetch(kind(env), 0) >= ENOUGH

      # After a request that took long in its fiber. It may have done so because the machine was busy: the core can tell, but
      # looks so closely only while requests are under suspicion.
      # @param waited [Boolean] whether it has waited at all, or the machine has kept it waiting
      # @return [Boolean] whether there are requests that {#blocking?} has to be asked about
      def judge(env, waited)
        kind = kind(env)
        before = @in_a_row.delete(kind) || 0
        @in_a_row[kind] = before + 1 unless waited
        @in_a_row.shift if @in_a_row.size > KINDS
        @in_a_row.any?
      end

      # Runs a request on the pool: all of it, since what an app does at the end of its body belongs to the thread on which
      # it was called (locks, connections to databases).
      # @return [Boolean] as {#judge}
      def offload(env, job)
        @in_a_row.delete(kind(env)) if Plait.offload { seconds(job) } < QUICK
        @in_a_row.any?
      end

      private

      def seconds(job)
        began = Deadline.now
        job.call
        Deadline.now - began
      end

      def kind(env) = Watch::Route.beginning(env)
    end
    private_constant :Hybrid

    # A server at work, from its start to its end, in one process.
    class Shift
      # Seconds between two sweeps of timeouts, and between two looks whether a server that ends is idle.
      SWEEP = 1
      LOOK = 0.01

      # Names of the core's figures that go up and down.
      GAUGES = %i[connections idle running waiting].freeze
      # Names of the core's figures that a report leaves out.
      INTERNAL = %i[workers].freeze
      # Bytes of a page of memory.
      PAGE = Etc.sysconf(Etc::SC_PAGESIZE)

      # An exception for a loop of fibers names no request, so the loop gets none.
      LOOP = "all requests of an event loop share it, and the one that is meant is unknown. Use Timeout.timeout on fibers, " \
             "or run on: :threads; Server#stop ends the server"
      IDLE = "it runs no request now"

      # @param scope [Scope] in which all of it runs
      # @param stop_signal [Io::StopSignal] ends it
      # @param index [Integer, nil] of this process among the workers
      def initialize(scope, app, options, listeners, stop_signal, index: nil)
        @scope = scope
        @stop_signal = stop_signal
        @listeners = listeners
        app = EarlyHints.offer(app) if options.early_hints
        app = options.watch.over(app) if options.watch
        hybrid = Hybrid.new if options.on == :hybrid
        @options = options
        @core = NativeCore.new(app, Reply.new(options), hybrid, method(:spawn), options.settings)
        @acceptors = []
        @cut = 0
        @index = index
        @since = Time.now.to_i
        listeners.each { |listener| admit_from(listener, options) }
      end

      # Serves until the stop signal is set, and then until all is answered or the time for that is up.
      # @raise [Exception] that ended it
      def run
        look_after_loop unless @options.on == :threads
        @core.begin
        @acceptors.each { |acceptor| start { acceptor.run { |job| start(&job) } } }
        @stop_signal.meanwhile(SWEEP) { sweep }
        drain
        raise @failure if @failure
      ensure
        @acceptors.each(&:close)
        @core.halt
        @over = true
        @scope.cancel
        @standstill&.end
        ThreadGuard.end_over(Thread.current, method(:drop_raised)) unless @options.on == :threads
      end

      # Takes no new connections, while other workers do; each open connection gets the answer to one more request. Returns when
      # none is left, or after the grace, and ends the server. From another thread.
      # @param grace [Numeric] seconds
      # @param drain [Numeric] seconds for running requests then
      def retire(grace, drain)
        @acceptors.each(&:close)
        @core.retire
        deadline = Deadline.after(grace)
        sleep(LOOK) until (empty? && @acceptors.none?(&:arriving?)) || deadline.expired? || @stop_signal.stopped?
        @stop_signal.stop(Deadline.after(drain))
      end

      # Closes what is left, once no worker runs.
      def close
        @acceptors.each(&:clear)
        @core.close
      end

      # @return [Hash{Symbol => Integer}] `cut:` counts requests that were not answered in time at the end
      def statistics = @core.statistics.merge!(cut: @cut)

      # @return [Hash] `counters:`, `gauges:` and `workers:`, see {Io::Workers#report}; `standstill:`, see {Standstill#report}
      def report
        figures = statistics
        gauges = figures.slice(*GAUGES).merge(memory: memory)
        counters = figures.except(*GAUGES, *INTERNAL)
        counters.merge!(@options.watch.counters) if @options.watch
        about = { index: @index, pid: Process.pid, since: @since, requests: counters.fetch(:requests), **gauges }
        { counters: counters, gauges: gauges, workers: [about], standstill: @standstill&.report }
      end

      # The hooks of the plan have opened the logs already.
      def reopen = nil

      private

      # @return [Integer] bytes of memory that this process has; 0 where the system doesn't tell
      def memory
        File.read("/proc/self/statm").split[1].to_i * PAGE
      rescue SystemCallError
        0
      end

      def look_after_loop
        ThreadGuard.over(Thread.current, method(:drop_raised))
        @standstill = Standstill.of(@core, @options)&.begin
      end

      def work
        ThreadGuard.over(Thread.current, method(:raise_into)) if @options.on == :threads
        @core.work
      end

      def raise_into(thread, exception) = @core.raise_into(thread, exception) || drop_raised(thread, exception, IDLE)

      def drop_raised(thread, exception, reason = LOOP)
        @options.plan.notice.call(ThreadGuard.dropped(thread, exception, reason))
      end

      def sweep
        @acceptors.each(&:recount)
        @core.sweep
      end

      # A request may go on without its connection: it has taken that over, or its client has left in the middle of it.
      def empty? = @core.statistics.values_at(:connections, :running).sum.zero? && @acceptors.none?(&:busy?)

      # What is accepted inherits the options of the listening socket.
      def admit_from(listener, options)
        endpoint = listener.endpoint
        listener.io.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1) unless endpoint.unix?
        scheme = listener.tls ? "https" : "http"
        port = endpoint.unix? ? "80" : endpoint.port.to_s
        name = endpoint.unix? ? "localhost" : endpoint.name.delete_suffix(":#{port}")
        undecided = listener.tls || listener.http2?
        number = @core.listen(undecided ? nil : listener.io, scheme, name, port)
        open_acceptor(listener, number, @core.listen(nil, scheme, name, port, "HTTP/2"), options) if undecided
      end

      def open_acceptor(listener, *numbers, options)
        @acceptors << (listener.tls ? Acceptor::TLS : Acceptor::Cleartext).new(listener, @core, numbers, options)
      end

      # Begins a further worker. The core calls it again at a later request where the system gives no thread now.
      # @raise [ThreadError]
      def spawn = (raise ThreadError, "the system gives no further thread" if @scope.withdraw(start { work }))

      # A failure in here is a bug of Plait: the server must not go on with a part missing. A job that a cancelled task
      # starts would not be cancelled itself.
      # @return [Task]
      def start
        @scope.async do
          yield unless @over
        rescue StandardError => e
          @failure ||= e
          @stop_signal.stop(Deadline.after(0))
        end
      end

      # New connections are refused at once, and do not wait in the kernel. A second stop meanwhile leaves less time.
      def drain
        @acceptors.each(&:close)
        @core.drain
        @listeners.each(&:close)
        until empty? || @stop_signal.deadline.expired?
          sleep(LOOK)
          @core.sweep
        end
        @cut = @core.unfinished
      end
    end
    private_constant :Shift
  end
end
