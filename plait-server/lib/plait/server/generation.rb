# frozen_string_literal: true

require_relative "isolation"
require_relative "later"
require_relative "rackup_file"
require_relative "watch"
# The last: they would load what is loaded here when they are asked for.
require_relative "../server"
require "plait"

module Plait
  class Server
    # An app as it was loaded once, with the server for it. When the app is to be loaded anew, there is another one.
    class Generation
      # @param configuration [Configuration]
      # @param sockets [Sockets]
      # @param logs [Logs]
      # @param notice [#call] is told, in a line, what people should know
      def initialize(configuration, sockets, logs, notice)
        @configuration = configuration
        @sockets = sockets
        @logs = logs
        @notice = notice
      end

      # @param count [Integer] of workers; 0: this process serves
      # @param life [Workers::Life, nil] of this process
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

      # Where nobody reads what it tells, it is not there.
      def watch(plan)
        return unless @logs.access || @configuration.metrics || @configuration.blocking

        plan.on_shutdown << ->(_) { @logs.close }
        Watch.new(log: @logs.access, notice: @notice)
      end

      def load
        RackupFile.load(@configuration.rackup).tap { Isolation.settle(@configuration.options[:on], &@notice.method(:call)) }
      end

      def later(plan)
        Later.new { load }.tap { |app| plan.on_boot.unshift(->(_) { app.load.then { @sockets.listen } }) }
      end

      # What the workers share is what none of them writes to.
      def tidy = Process.respond_to?(:warmup) ? Process.warmup : GC.start

      def name_process(index)
        Process.setproctitle("plait: worker #{index} [#{File.basename(Dir.pwd)}]")
      end
    end
  end
end
