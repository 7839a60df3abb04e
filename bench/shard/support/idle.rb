# frozen_string_literal: true

require "socket"

module Bench
  module Shard
    # Clients who are there and ask for nothing: what the proxy needs over the base of its language, and for each of them.
    class Idle
      # Descriptors that are not clients.
      RESERVE = 200

      # @param contestant [Class] see {Contestants}
      def initialize(contestant)
        @contestant = contestant
      end

      # @param trial [Harness::Trial]
      def report(trial)
        _, most = Process.getrlimit(:NOFILE)
        Process.setrlimit(:NOFILE, most, most)
        count = [trial[:clients], most - RESERVE].min
        @contestant.open(Nodes.ports) do |proxy|
          alone = proxy.memory
          clients = Array.new(count) { greet(TCPSocket.new("127.0.0.1", proxy.port)) }
          trial.report(operations: count, result: true, figures: {
                         "idle_mb" => alone - proxy.base, "kib_per_client" => (proxy.memory - alone) * 1e6 / 1024 / count
                       })
          clients.each(&:close)
        end
      end

      private

      # One that has asked once, so that it has been let in.
      def greet(socket)
        socket.write("*2\r\n$3\r\nGET\r\n$1\r\nk\r\n")
        socket.gets
        socket
      end
    end
  end
end
