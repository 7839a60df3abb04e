# frozen_string_literal: true

module Plait
  class Server
    class ConfigFile
      # Words of Puma's that change nothing here: a notice says so, and a config/puma.rb works without a change.
      module ForeignWords
        # A word => why there is nothing to do.
        REASONS = {
          daemonize: "it stays in the foreground: have systemd, or the like, run it",
          rack_url_scheme: "the scheme is the socket's; Rack::Request#scheme heeds X-Forwarded-Proto",
          activate_control_app: "see `plait serve status`, `stop` and `restart`",
          worker_check_interval: "a worker that dies is noticed at once, one that hangs by worker_timeout",
          fork_worker: "a process that has loaded the app and serves no requests starts workers",
          nakayoshi_fork: "memory is put in order before each fork", prune_bundler: "each restart loads the app again",
          queue_requests: "requests are always read before the app is called",
          wait_for_less_busy_worker: "see reuse_port! instead",
          tag: "the process is named after its app", quiet: "nothing is said about requests without access_log",
          debug: "see PLAIT_DEBUG=1, and blocking",
          lowlevel_error_handler: "what an app raises is answered 500, and reported on rack.errors",
          set_remote_address: "REMOTE_ADDR is the peer that has connected; Rack::Request#ip heeds what a proxy says",
          supported_http_methods: "the app is asked about any method",
          after_worker_shutdown: "see on_worker_shutdown, which is called in the worker",
          out_of_band: "the collector is left to Ruby", max_fast_inline: "connections take turns by themselves",
          max_keep_alive: "connections between two requests cost next to nothing",
          max_io_threads: "see on :fibers and :hybrid, and limit", io_selector_backend: "it is epoll",
          worker_culling_strategy: "workers are replaced one by one", drain_on_shutdown: "see drain",
          bind_to_activated_sockets: "sockets of a service manager are always taken",
          extra_runtime_dependencies: "each restart loads the app again", restart_command: "see `plait serve restart`",
          raise_exception_on_sigterm: "a server that ends on a signal has ended well", shutdown_debug: "see blocking",
          state_permission: "any user may read it",
          mutate_stdout_and_stderr_to_sync_on_write: "see stdout_redirect"
        }.freeze
        # Likewise, of several words.
        COMMON_REASONS = {
          %i[before_restart on_restart] => "a new process loads the app, and what the old one has open ends with it",
          %i[before_refork on_refork after_refork] => "workers are never forks of one that has served",
          %i[before_worker_fork on_worker_fork] => "see before_fork, and on_worker_boot, which is called in the worker",
          %i[after_worker_fork after_worker_boot] => "see on_worker_boot, which is called in the worker",
          %i[after_booted on_booted] => "the process that has the signals never loads the app: see on_worker_boot",
          %i[after_stopped on_stopped] => "the process that has the signals never loads the app: see on_worker_shutdown",
          %i[before_thread_start on_thread_start before_thread_exit on_thread_exit] => "threads begin when requests need them",
          %i[fiber_per_request clean_thread_locals] => "on :fibers and :hybrid each request has a fiber, and locals, of its own",
          %i[custom_logger log_formatter] => "what is said goes to standard error: see stdout_redirect",
          %i[silence_single_worker_warning silence_fork_callback_warning] => "there is no such warning"
        }.freeze
        # Plugins that new apps of Rails' name => what does their work here.
        PLUGINS = { tmp_restart: "for tmp/restart.txt see `plait serve restart`",
                    solid_queue: "run bin/jobs in a process of its own" }.freeze
        # Of one word or several.
        ALL = COMMON_REASONS.flat_map { |words, reason| words.product([reason]) }.to_h.merge(REASONS).freeze
        private_constant :REASONS, :COMMON_REASONS
      end
    end
  end
end
