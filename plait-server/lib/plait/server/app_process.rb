# frozen_string_literal: true

require_relative "generation"
require_relative "handover"
require_relative "logs"
require_relative "sockets"
require_relative "surroundings"
require_relative "workers/life"
require_relative "workers/plan"

module Plait
  class Server
    # The process that loads the app and begins the workers: a fork of the master at first, and later another program, see
    # {Handover}.
    class AppProcess
      # Serves in the place of {Master#run}, for another master that has begun this program. Does not return.
      # @param configuration [Configuration] as it is now
      # @param order [Hash] see {Handover.received}
      # @param notice [#call]
      # @return [void]
      def self.succeed(configuration, order, notice)
        logs = nil
        plan = Workers::Plan.of(name: "the process with the app", drain: configuration.drain, notice: notice,
                                on_reopen: [-> { logs&.reopen }])
        Workers::Life.new(0, order[:link], plan).live do |life|
          folder = Surroundings.enter(configuration)
          logs = Logs.new(configuration, folder)
          process = new(configuration, Sockets.of(order[:sockets]), logs, notice)
          process.tell(order[:before])
          Handover.give_back_stderr(order)
          process.live(life, folder, order[:count])
        end
      end

      # @param configuration [Configuration]
      # @param sockets [Sockets]
      # @param logs [Logs]
      # @param notice [#call]
      def initialize(configuration, sockets, logs, notice)
        @configuration = configuration
        @sockets = sockets
        @logs = logs
        @notice = notice
      end

      # @param before [Hash] settings with which the master was begun
      # @return [void]
      def tell(before)
        @sockets.warnings.each { |line| @notice.call(line) }
        words = @configuration.unheeded(before)
        @notice.call("what has changed of #{words.join(", ")} counts from the next start on (plait serve stop)") if words.any?
      end

      # @param life [Workers::Life]
      # @param folder [String]
      # @param count [Integer] of workers
      # @return [void]
      def live(life, folder, count)
        @logs.settle
        Process.setproctitle("plait: app [#{File.basename(folder)}]")
        Dir.chdir(folder)
        Generation.new(@configuration, @sockets, @logs, @notice).server(count, life: life).run
      end
    end
  end
end
