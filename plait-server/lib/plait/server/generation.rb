# frozen_string_literal: true

require_relative "handover"
require_relative "logs"
require_relative "sockets"
require_relative "surroundings"
require_relative "watch"
require "plait/io/workers/life"
# The last: they would load what is loaded here when they are asked for.
require_relative "../server"
require "plait"

module Plait
  class Server
    # Has Rails keep what belongs to one request by fiber, where requests are fibers. By itself it does so by thread: fibers of
    # one thread would share one user, one time zone, one connection to the database, and no message would say why.
    module Isolation
      SETTLED = "Rails keeps the state of a request (Current, connections to databases) by fiber, and not by thread, since it " \
                "runs on %s; config.active_support.isolation_level = :fiber in config/application.rb says the same"
      TOO_OLD = "this Rails keeps the state of a request by thread, and with on: :%s requests of one thread would get each " \
                "other's: take Rails 7.0 or newer, or run it on: :threads"

      # To be called when the app is loaded, and before it is called.
      # @param mechanism [Symbol] that runs the requests
      # @yieldparam line [String] what to tell, if anything was changed
      # @raise [UsageError] where it can't be changed
      def self.settle(mechanism)
        return if mechanism == :threads || !rails?
        raise UsageError, format(TOO_OLD, mechanism) unless defined?(::ActiveSupport::IsolatedExecutionState)
        return if ::ActiveSupport::IsolatedExecutionState.isolation_level == :fiber

        keep_by_fiber
        yield format(SETTLED, mechanism)
      end

      # @api private
      def self.rails? = defined?(::Rails) && ::Rails.respond_to?(:application) && !::Rails.application.nil?

      # A connection that this thread took while the app was loaded would belong to no request.
      # @api private
      def self.keep_by_fiber
        ::ActiveRecord::Base.connection_handler.clear_active_connections! if defined?(::ActiveRecord::Base)
        ::ActiveSupport::IsolatedExecutionState.isolation_level = :fiber
      end
    end

    # An app as it was loaded once, with the server for it. Each restart of a {Master} makes another one, in another process: at
    # first that is a fork of the master, and later another program, see {Handover}.
    class Generation
      # Serves in the place of {Master#run}, for the master that has started this program. Does not return.
      # @param configuration [Configuration] as it is now
      # @param order [Hash] see {Handover.received}
      # @param notice [#call]
      def self.succeed(configuration, order, notice)
        logs = nil
        plan = Io::Workers::Plan.of(name: Io::Workers::Plan::APP, drain: configuration.drain, notice: notice,
                                    on_reopen: [-> { logs&.reopen }])
        Io::Workers::Life.new(0, order[:link], plan).live do |life|
          folder = Surroundings.enter(configuration)
          logs = Logs.new(configuration, folder)
          generation = new(configuration, Sockets.of(order[:sockets]), logs, notice)
          generation.tell(order[:before])
          Handover.give_back_stderr(order)
          generation.live(life, folder, order[:count])
        end
      end

      # @param notice [#call] called with a line for the operator
      def initialize(configuration, sockets, logs, notice)
        @configuration = configuration
        @sockets = sockets
        @logs = logs
        @notice = notice
      end

      # @param before [Hash] settings of the master
      def tell(before)
        @sockets.warnings.each { |line| @notice.call(line) }
        words = @configuration.unheeded(before)
        @notice.call("what has changed of #{words.join(", ")} counts from the next start on (plait serve stop)") if words.any?
      end

      # Serves, in a process of its own.
      # @param folder [String]
      # @param count [Integer] of workers
      def live(life, folder, count)
        @logs.settle
        Process.setproctitle("plait: app [#{File.basename(folder)}]")
        Dir.chdir(folder)
        server(count, life: life).run
      end

      # @param count [Integer] of workers; 0: this process serves
      # @param life [Io::Workers::Life, nil] of this process
      # @return [Server] with the app loaded, that listens
      # @raise [UsageError] for an app that can't be loaded
      def server(count, life: nil)
        plan = @configuration.plan(@notice)
        watch = watch(plan)
        app = @configuration.preload || count.zero? ? load.tap { @sockets.listen } : later(plan)
        plan.on_reopen << @logs.method(:reopen)
        plan.before_fork << method(:tidy)
        plan.on_boot.unshift(->(index) { name_process(index) })
        workers = count unless count.zero?
        server = Server.new(app, **@configuration.options, workers: workers, plan: plan, life: life, watch: watch)
        @sockets.each { |listener, worker| server.listen(listener, worker: worker) }
        server
      end

      private

      # Without a log, metrics or `blocking` there is no watch.
      def watch(plan)
        return unless @logs.access || @configuration.metrics || @configuration.blocking

        plan.on_shutdown << ->(_) { @logs.close }
        Watch.new(log: @logs.access, notice: @notice)
      end

      def load
        path = @configuration.rackup
        raise UsageError, "there is no file #{path}: name the config.ru of the app, or go to its folder" unless File.file?(path)

        require_rack
        parse(path).tap { Isolation.settle(@configuration.options[:on], &@notice.method(:call)) }
      end

      # @return [#call] the app, which the process that serves loads when it boots
      def later(plan)
        app = nil
        plan.on_boot.unshift(lambda { |_|
          app = load
          @sockets.listen
        })
        ->(env) { app.call(env) }
      end

      def require_rack
        require "rack"
      rescue LoadError
        raise UnsupportedError, "the gem rack is needed to load a config.ru: add it to the app's Gemfile (gem install rack)"
      end

      # @raise [UsageError] for a config.ru that can't be loaded, or exits
      def parse(path)
        app, = Rack::Builder.parse_file(File.expand_path(path)) # before Rack 3 with its options
        app
      rescue SystemExit => e
        raise UsageError, "#{path} can't be loaded: it exits with #{e.status}#{place(e, path)}"
      rescue StandardError, ScriptError, SystemStackError => e
        raise if e.is_a?(Error)

        raise UsageError, "#{path} can't be loaded: #{e.message.strip} (#{e.class})#{place(e, path)}"
      end

      def place(error, path)
        line = error.backtrace&.find { |entry| entry.include?(File.basename(path)) } || error.backtrace&.first
        line ? " at #{line}" : ""
      end

      # What the workers share is what none of them writes to.
      def tidy = Process.respond_to?(:warmup) ? Process.warmup : GC.start

      def name_process(index) = Process.setproctitle("plait: worker #{index} [#{File.basename(Dir.pwd)}]")
    end
  end
end
