# frozen_string_literal: true

require "plait/io/listener"

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
  end
end
