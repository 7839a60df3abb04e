# frozen_string_literal: true

require "etc"

module Plait
  class Server
    # How to serve an app: settings of a file (see {ConfigFile}), of the command line, and defaults.
    Configuration = Struct.new(
      :rackup, :directory, :environment, :binds, :reuse_port, :workers, :preload, :worker_memory, :before_fork, :on_boot,
      :on_shutdown, :boot_timeout, :worker_timeout, :grace, :drain, :on, :limit, :queue, :early_hints, :server, :pidfile, :state,
      :access_log, :log_format, :metrics, :blocking, :stdout, :stderr, keyword_init: true
    )

    # See {Configuration} above.
    class Configuration
      # Where nothing is said.
      DEFAULTS = {
        rackup: "config.ru", binds: [], reuse_port: false, preload: true, before_fork: [], on_boot: [], on_shutdown: [],
        boot_timeout: 60, grace: 5, drain: 30, on: :hybrid, server: {}
      }.freeze
      # Likewise, of {#binds}.
      BIND = "tcp://127.0.0.1:9292"
      # As other servers have it.
      WORKERS = "WEB_CONCURRENCY"

      # What is the master's, which goes on when the app is loaded again => its word in a config/plait.rb.
      MASTERS = {
        binds: "bind", reuse_port: "reuse_port!", workers: "workers", directory: "directory", environment: "environment",
        boot_timeout: "worker_boot_timeout", grace: "grace", drain: "drain", pidfile: "pidfile", state: "state_path",
        access_log: "access_log", log_format: "access_log", metrics: "metrics", stdout: "stdout_redirect",
        stderr: "stdout_redirect"
      }.freeze

      # More workers than that are a slip of the finger, which would use up the machine.
      MOST_WORKERS = 1024

      # @param settings [Array<Hash>] each of which overrides the ones before
      # @return [Configuration]
      def self.of(*settings)
        defaults = DEFAULTS.transform_values { |value| value.frozen? ? value : value.dup }
        new(**settings.map(&:compact).reduce(defaults, :merge))
      end

      # @param env [#[]]
      # @return [Integer] as many as there are processors, where nothing is said; 0: this process serves
      # @raise [UsageError]
      def worker_count(env = ENV)
        count = workers || env[WORKERS] || Etc.nprocessors
        count = Etc.nprocessors if count.to_s == "auto"
        number = Integer(count, exception: false)
        return number if number && (0..MOST_WORKERS).cover?(number)

        raise UsageError, "#{workers ? "workers" : WORKERS}: a number from 0 to #{MOST_WORKERS}, or auto, not #{count.inspect}"
      end

      # @return [Hash{Symbol => Object}] what is the master's
      def masters = to_h.slice(*MASTERS.keys)

      # @param before [Hash{Symbol => Object}] {#masters} with which the server started
      # @return [Array<String>] words that say something else now, which count from its next start on
      def unheeded(before) = MASTERS.filter_map { |name, word| word if self[name] != before[name] }.uniq

      # @return [Array<String>]
      def places = binds.empty? ? [BIND] : binds

      # @return [Hash{Symbol => Object}] for {Server#initialize}, without options of workers
      def options = { on: on, limit: limit, queue: queue, early_hints: early_hints, blocking: blocking }.compact.merge(server)

      # @param notice [#call]
      # @return [Io::Workers::Plan] of the workers that call the app
      def plan(notice)
        Io::Workers::Plan.of(before_fork: before_fork, on_boot: on_boot, on_shutdown: on_shutdown, memory: worker_memory,
                             patience: boot_timeout, silence: worker_timeout, grace: grace, drain: drain, notice: notice)
      end
    end
  end
end
