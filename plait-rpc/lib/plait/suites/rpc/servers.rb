# frozen_string_literal: true

require "plait/suites/common/suite"
require_relative "peer"

module Plait
  module Suites
    class Rpc < Suite
      # An embedded server for each mechanism that methods are run on.
      class Servers
        # @param mechanisms [Array<Symbol>]
        # @param blocks [Integer] see {Blocks}
        def initialize(mechanisms, blocks)
          @mechanisms = mechanisms
          @blocks = blocks
        end

        # Has them run meanwhile.
        # @return [void]
        def around
          peers = @mechanisms.to_h { |on| [on, Peer.new(on: on, blocks: @blocks)] }
          peers.each_value(&:await)
          @peers = peers
          yield
        ensure
          peers&.each_value(&:stop)
        end

        # @param on [Symbol]
        # @return [Io::Endpoint] of the one now running
        def endpoint(on) = @peers.fetch(on).endpoint
      end
    end
  end
end
