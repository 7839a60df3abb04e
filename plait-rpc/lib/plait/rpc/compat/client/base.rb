# frozen_string_literal: true

require_relative "../client"

module Plait
  module RPC
    module Compat
      class Client
        # What generated clients are made from.
        class Base
          # @return [Client]
          attr_reader :base

          # @see Client#initialize
          def initialize(...)
            @base = Client.new(...)
          end
        end
      end
    end
  end
end
