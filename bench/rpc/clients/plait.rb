# frozen_string_literal: true

require "plait"
require_relative "client"

module Bench
  module RPC
    module Clients
      # Plait's client and server.
      class Plait < Client
        def self.serve(service, tell, on: :threads)
          server = ::Plait::RPC::Server.new(service, on: on)
          tell.call(server.listen("127.0.0.1", 0).port)
          server.run
        end

        def self.shared? = true

        def initialize(port)
          super
          @client = ::Plait::RPC::Client.new("127.0.0.1", port)
        end

        private

        def ask(...) = @client.call(...)

        # All are calls of one method.
        def together(calls) = @client.map(calls.first.first, calls.map { |_, *arguments| arguments }, limit: calls.size)
      end

      # The same by TLS.
      class PlaitTLS < Plait
        def self.serve(service, tell)
          require_relative "../../../test/support/certificates"
          pair = ::Certificates.self_signed("IP:127.0.0.1")
          server = ::Plait::RPC::Server.new(service)
          tell.call(server.listen("tls://127.0.0.1:0", tls: { certificate: pair.certificate, key: pair.key }).port)
          server.run
        end

        def initialize(port) # rubocop:disable Lint/MissingSuper -- that one connects by TCP
          @client = ::Plait::RPC::Client.connect("tls://127.0.0.1:#{port}", tls: { verify: false })
        end
      end

      # The same, in fibers on both sides.
      class PlaitFibers < Plait
        class << self
          def serve(service, tell) = super(service, tell, on: :fibers)

          def surround(&block) = ::Plait.run(on: :fibers, &block)

          def at_once(clients, &block) = ::Plait.map(clients, on: :fibers, limit: clients.size, &block)
        end
      end
    end
  end
end
