# frozen_string_literal: true

require_relative "../server"

module Plait
  module RPC
    module Compat
      class Server
        # What generated servers are made from.
        class Base
          # @return [Server]
          attr_reader :base

          # @see Server#initialize
          def initialize(...)
            @base = Server.new(...)
            @base.serve(self)
          end
        end
      end
    end
  end
end
