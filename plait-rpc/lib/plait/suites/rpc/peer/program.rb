# frozen_string_literal: true

require "plait/suites/common/suite"
require_relative "../service"
require "plait"
require_relative "../../../rpc"
require "plait/values/errors"

module Plait
  module Suites
    class Rpc < Suite
      class Peer
        # The server's own process: tells its port, and serves until it is ended or its parent is gone.
        module Program
          # Seconds between two looks whether the parent is still there.
          LOOK = 0.2

          class << self
            # @param on [Symbol]
            # @param blocks [Integer]
            # @param parent [Integer] process id
            # @param handshake [IO] is told the port, or what went wrong
            # @return [void]
            def run(on:, blocks:, parent:, handshake: $stdout)
              trap("INT", "IGNORE") # it reaches the whole group, and the parent is still measuring
              server = RPC::Server.new(Service.new(blocks), on: on, limits: { message: 1 << 30 })
              handshake.puts("port #{server.listen("127.0.0.1", 0).port}")
              handshake.flush
              leave_with(parent, server)
              trap("TERM") { server.stop(within: 0) }
              server.run
            rescue Error, SystemCallError, LoadError => e
              handshake.puts(e.message.lines.first)
            end

            private

            # By asking, not by a pipe's end: every process the parent forks meanwhile would keep such a pipe open.
            def leave_with(parent, server)
              Thread.new do
                sleep(LOOK) while Process.ppid == parent
                server.stop(within: 0)
              end
            end
          end
        end
      end
    end
  end
end
