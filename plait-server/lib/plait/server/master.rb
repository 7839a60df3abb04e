# frozen_string_literal: true

require_relative "configuration"
require_relative "generation"
require_relative "handover"
require_relative "logs"
require_relative "metrics"
require_relative "native_core"
require_relative "options"
require_relative "pid_file"
require_relative "sockets"
require_relative "state_file"
require_relative "surroundings"
require "plait/io/orphaned_fork"

module Plait
  class Server
    # Reports to systemd, or another service manager (sd_notify(3)), when a server serves, loads the app again and ends,
    # and again and again that it is alive, where WATCHDOG_USEC asks for that.
    class ServiceManager
      # Seconds between two looks whether a restart is over.
      LOOK = 0.1

      # @yieldreturn [Boolean] whether the server is alive
      def initialize(env = ENV, &alive)
        @env = env
        @alive = alive
        watched = env["WATCHDOG_PID"].nil? || env["WATCHDOG_PID"].to_i == Process.pid
        seconds = env["WATCHDOG_USEC"].to_i / 1e6
        @pause = seconds / 2 if watched && seconds.positive?
      end

      def ready
        tell("READY=1")
        @watchdog ||= start { beat } if @pause && @env["NOTIFY_SOCKET"]
      end

      def stopping = tell("STOPPING=1")

      # @param workers [Io::Workers] which are about to be replaced, or not, when that fails
      def reloading(workers)
        return unless @env["NOTIFY_SOCKET"]

        tell("RELOADING=1\nMONOTONIC_USEC=#{Process.clock_gettime(Process::CLOCK_MONOTONIC, :microsecond)}")
        before = [workers.generation, workers.failures]
        @reload&.kill
        @reload = start { await { [workers.generation, workers.failures] != before } }
      end

      def close = [@watchdog, @reload].compact.each { |thread| thread.kill.join }

      private

      def tell(text) = Io::Listener::Inheritance.notify(text, @env)

      def start(&block) = Thread.new(&block).tap { |thread| thread.name = "plait service manager" }

      def beat
        loop do
          tell("WATCHDOG=1") if @alive.call
          sleep(@pause)
        end
      end

      def await
        sleep(LOOK) until yield
        tell("READY=1")
      end
    end
    private_constant :ServiceManager

    # A server as an operator has it: sockets, signals, files, and the app in a process of its own, the parent of the workers.
    # The master itself never loads the app: so it can have it loaded again, while the old one serves, and let that be the answer
    # when this fails.
    #
    # - SIGTERM, SIGINT: end, after running requests are answered. A second one: at once
    # - SIGUSR1, SIGUSR2: load the app again and replace all workers, without a failed request
    # - SIGHUP: open the logs again; without any, as SIGTERM
    class Master
      SIGNALS = { "INT" => :stop, "TERM" => :stop, "USR1" => :restart, "USR2" => :restart, "HUP" => :hang_up }.freeze
      # What is called for workers => its word in a config/plait.rb.
      HOOKS = { before_fork: "before_fork", on_boot: "on_worker_boot", on_shutdown: "on_worker_shutdown" }.freeze
      # Seconds that the process with the app has to end its workers first.
      SLACK = 6
      # Before the first report.
      NOTHING = { counters: {}, gauges: {}, workers: [] }.freeze

      # @param notice [#call] called with a line for the operator
      def initialize(configuration, notice:)
        NativeCore.check
        Options.build(configuration.options) # wrong options are reported before anything starts
        @configuration = configuration
        @notice = notice
        @count = configuration.worker_count
        @stop_signal = Io::StopSignal.new
        @manager = ServiceManager.new { @duty.nil? || @duty.report[:standstill].nil? }
        @phase = "boot"
        @since = Time.now.to_i
      end

      # @return [Integer] of workers; 0: this process serves
      attr_reader :count

      # @return [Integer] requests that were not ended in time when it ended, and cut
      def cut = source&.report&.dig(:counters, :cut) || 0

      # Serves until a signal ends it.
      # @yieldparam endpoints [Array<Io::Endpoint>] as soon as it serves
      # @raise [UsageError, ListenError, UnsupportedError, WorkerDied] when it can't begin
      def run(&on_ready)
        @generation = Native.fork_generation
        @handover = Handover.new(Surroundings.current_folder)
        @directory = Surroundings.enter(@configuration)
        open_files
        warn_of_short_queue
        warn_of_sockets
        handling_signals { @count.zero? ? serve(&on_ready) : supervise(&on_ready) }
      rescue StandardError
        raise if @generation == Native.fork_generation

        raise UsageError, Io::OrphanedFork::MESSAGE
      ensure
        clear_up if @generation == Native.fork_generation
      end

      private

      def clear_up
        [[@state, :remove], [@manager, :close], [@metrics, :close], [@logs, :close], [@sockets, :close], [@pid_file, :remove],
         [@logs, :give_back]].each { |part, order| end_part(part, order) }
      end

      # What comes next is ended even so.
      def end_part(part, order)
        part&.public_send(order)
      rescue StandardError => e
        @notice.call("at its end #{order} of #{part.class} has failed: #{e.class}: #{e.message}")
      end

      def open_files
        @logs = Logs.new(@configuration, @directory)
        @sockets = Sockets.new(@configuration, @count)
        @pid_file = PidFile.new(@configuration.pidfile) if @configuration.pidfile
        @state = StateFile.new(@configuration.state) if @configuration.state
        @state&.write(state)
        @metrics = MetricsEndpoint.new(@configuration.metrics) { source&.report || NOTHING } if @configuration.metrics
      rescue SystemCallError => e
        raise UsageError, "the status file #{@configuration.state} can't be written: #{SystemReason.of(e)}"
      end

      def warn_of_short_queue = @sockets.short_queue&.then { |line| @notice.call(line) }

      def warn_of_sockets = @sockets.warnings.each { |line| @notice.call(line) }

      # ---- the two ways to serve ----

      def serve(&on_ready)
        tell_of_idle_hooks
        @server = loading { Generation.new(@configuration, @sockets, @logs, @notice).server(0, life: self) } or return
        @on_ready = on_ready
        @server.run
      end

      def tell_of_idle_hooks
        idle = HOOKS.select { |name, _| @configuration[name].any? }.values
        @notice.call("without workers #{idle.join(", ")} are not called (see --workers)") if idle.any?
      end

      # The app is code of others, which may never come back: a signal ends that, too.
      # @return [Server, nil] nil when it was ended
      def loading(&block)
        @loading = Thread.current
        catch(:ended) { telling_of_slowness(&block) }
      ensure
        @loading = nil
      end

      # Without workers no parent could end a load that hangs, so a line tells of it.
      def telling_of_slowness
        seconds = @configuration.boot_timeout
        teller = Thread.new do
          sleep(*(seconds if seconds.finite?)) # without an end otherwise
          @notice.call("#{@configuration.rackup} is being loaded for #{seconds} s by now: nothing is served")
        end
        yield
      ensure
        teller.kill.join
      end

      def supervise(&on_ready)
        plan = Io::Workers::Plan.of(
          name: Io::Workers::Plan::APP, patience: @configuration.boot_timeout, slack: SLACK, grace: @configuration.grace,
          drain: @configuration.drain, notice: @notice, silence: Float::INFINITY, on_reopen: [@logs.method(:reopen)],
          on_end: [@sockets.method(:close)]
        )
        @workers = Io::Workers.new(1, @stop_signal, plan) { |life| @served ? hand_over(life) : be_parent(life) }
        @workers.run { serving(&on_ready) }
      end

      def hand_over(life)
        let_go
        Dir.chdir(@directory)
        @handover.exec(life.link, @sockets, count: @count, before: @configuration.masters)
      end

      # What belongs to the master alone: its forks, some of which outlive a killed master, must not hold it.
      def let_go
        @pid_file&.close
        @metrics&.forget
      end

      # In the process with the app.
      def be_parent(life)
        let_go
        Generation.new(@configuration, @sockets, @logs, @notice).live(life, @directory, @count)
      end

      def serving
        @served = true
        @logs.settle
        @phase = "serving"
        @state&.follow { state }
        @manager.ready
        yield @sockets.endpoints
      end

      # ---- in the place of an Io::Workers::Life, where this process serves ----

      public

      # @api private
      attr_reader :stop_signal

      # @api private
      def index = 0

      # @api private
      def ready(duty)
        @duty = duty
        serving(&@on_ready)
      end

      private

      # ---- signals ----

      def handling_signals
        before = SIGNALS.to_h { |name, action| [name, trap(name) { send(action) }] }
        yield
      ensure
        before&.each { |name, handler| trap(name, handler) }
      end

      # The second time at once.
      def stop
        @stop_signal.stop(Deadline.after(@stopping ? 0 : @configuration.drain))
        @manager.stopping unless @stopping
        @phase = "stopping"
        @stopping = true
        throw(:ended) if @loading == Thread.current # handlers run in the main thread
      end

      def restart
        return later("this process serves alone: there are no workers to replace (see --workers)") unless @workers

        @manager.reloading(@workers)
        @workers.restart
      end

      def hang_up = @logs.any? ? Thread.new { reopen } : stop

      def reopen
        @logs.reopen if @workers
        (@workers || @server)&.reopen
      end

      # A signal handler may not wait for a lock that the interrupted thread holds.
      def later(line) = Thread.new { @notice.call(line) }

      # ---- how it is ----

      def source = @workers || @duty

      def state
        { version: VERSION, phase: @phase, since: @since, on: @configuration.on, count: @count,
          endpoints: @sockets.endpoints.map(&:to_s), generation: @workers&.generation, failures: @workers&.failures,
          obituary: @workers&.obituary, **(source ? source.report : {}) }
      end
    end
  end
end
