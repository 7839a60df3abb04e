# frozen_string_literal: true

require "plait/suites/common/companion"
require "plait/suites/common/suite"
require_relative "conversation"

module Plait
  module Suites
    class Shard < Suite
      # How commands come to the nodes: through a proxy with these options, or to a server itself.
      class Way
        # @return [String]
        attr_reader :name

        # @param name [String]
        # @param options [Hash, nil] of the proxy; nil: none
        # @param nodes [Range] those of the servers that it is for
        def initialize(name, options, nodes)
          @name = name
          @options = options
          @nodes = nodes
        end

        # @param addresses [Array<String>] of all servers
        # @yieldparam port [Integer] to connect to
        # @yieldparam pid [Integer] of the process that is measured
        def open(addresses, &block)
          nodes = addresses[@nodes]
          @options ? through_proxy(nodes, &block) : directly(nodes.first, &block)
        end

        private

        def through_proxy(nodes)
          call = { nodes: nodes, parent: Process.pid, **@options }.inspect
          proxy = Companion.launch(File.join(__dir__, "program.rb"), "Plait::Suites::Shard::Program.run(**#{call})", gems: [])
          yield proxy.await_port("the proxy"), proxy.pid
        ensure
          proxy&.stop
        end

        def directly(address)
          port = Integer(address[/\d+\z/])
          yield port, Conversation.open(port) { |server| server.call("INFO", "server")[/^process_id:(\d+)/, 1].to_i }
        end
      end
    end
  end
end
