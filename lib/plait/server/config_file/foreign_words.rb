# frozen_string_literal: true

module Plait
  class Server
    class ConfigFile
      # Words of Puma's for which there is nothing to do here: whoever moves over is told, and need not change them at once.
      module ForeignWords
        # A word => why there is nothing to do.
        REASONS = {
          plugin: "Puma's plugins are for Puma",
          activate_control_app: "see `plait serve status`, `stop` and `restart`",
          worker_timeout: "a worker that dies is noticed at once, and one whose loop stands still is reported",
          worker_check_interval: "a worker that dies is noticed at once",
          fork_worker: "workers are begun by a process that has loaded the app and serves nobody",
          nakayoshi_fork: "memory is put in order before each fork", prune_bundler: "each restart loads the app anew",
          queue_requests: "requests are always read before the app is called",
          wait_for_less_busy_worker: "see reuse_port! instead",
          tag: "the process is named after its app", quiet: "nothing is said about requests without access_log"
        }.freeze

        REASONS.each do |word, reason|
          define_method(word) do |*_arguments, **_options, &_block|
            @notice.call("#{place}: `#{word}` has no meaning here: #{reason}")
          end
        end
      end
    end
  end
end
