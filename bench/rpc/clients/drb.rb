# frozen_string_literal: true

require "drb"
require_relative "client"

module Bench
  module RPC
    module Clients
      # Ruby's own remote calls.
      class DRb < Client
        LIMIT = 1 << 30

        def self.serve(service, tell)
          server = ::DRb.start_service("druby://127.0.0.1:0", service, load_limit: LIMIT)
          tell.call(Integer(server.uri[/\d+\z/]))
          server.thread.join
        end

        def self.shared? = true

        def initialize(port)
          super
          ::DRb.start_service(nil, nil, load_limit: LIMIT)
          @object = ::DRb::DRbObject.new_with_uri("druby://127.0.0.1:#{port}")
        end

        private

        def ask(...) = @object.public_send(...)
      end
    end
  end
end
