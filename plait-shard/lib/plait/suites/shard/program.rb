# frozen_string_literal: true

require "plait/suites/common/suite"
require_relative "../../shard"
require "plait/values/errors"

module Plait
  module Suites
    class Shard < Suite
      # The proxy's own process: tells its port, and serves until it is ended or its parent is gone.
      module Program
        # Seconds between two looks whether the parent is still there.
        LOOK = 0.2

        # @param parent [Integer] process id
        # @param handshake [IO] is told the port, or what went wrong
        # @param options [Hash] as for {Plait::Shard::Proxy#initialize}
        # @return [void]
        def self.run(parent:, handshake: $stdout, **options)
          trap("INT", "IGNORE") # it reaches the whole group, and the parent is still measuring
          trap("TERM", "SYSTEM_DEFAULT")
          Plait::Shard::Proxy.open(listen: "127.0.0.1:0", **options) do |proxy|
            handshake.puts("port #{proxy.port}")
            handshake.flush
            # By asking, not by a pipe's end: every process the parent forks meanwhile would keep such a pipe open.
            sleep(LOOK) while Process.ppid == parent
          end
        rescue Error => e
          handshake.puts(e.message.lines.first)
        end
      end
    end
  end
end
