# frozen_string_literal: true

module Plait
  module Protocols
    module HTTP1
      module Pure
        # What the head's role and the request before it have to do with its meaning.
        class Exchange
          # @return [Integer] 1xx responses so far
          attr_accessor :interims

          # @param role [Symbol] :request or :response
          def initialize(role, head: false, connect: false, upgrade: false)
            @role = role
            @head = head
            @connect = connect
            @upgrade = upgrade
            @interims = 0
          end

          def request? = @role == :request

          # @return [Boolean] whether the response belongs to a HEAD
          def head? = @head

          # @return [Boolean] whether it belongs to a CONNECT
          def connect? = @connect

          # @return [Boolean] whether it belongs to a request that offered an upgrade
          def upgrade? = @upgrade
        end
      end
    end
  end
end
