# frozen_string_literal: true

module Plait
  module RPC
    # An object whose methods are those of a server: what is called on it, the server is asked for.
    #
    # @example
    #   calculator = client.proxy
    #   calculator.add(1, 2)
    class Proxy < BasicObject
      # @param client [Client]
      # @param timeout [Numeric, nil] seconds for each call
      # @api private
      def initialize(client, timeout)
        @client = client
        @timeout = timeout
      end

      # @return [String]
      def inspect = "#<Plait::RPC::Proxy #{@client.endpoint}>"

      # @api private
      def respond_to_missing?(_name, _private = false) = true

      private

      def method_missing(name, *arguments, **named)
        arguments << named unless named.empty?
        @client.call(name, *arguments, timeout: @timeout)
      end
    end
  end
end
