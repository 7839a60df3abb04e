# frozen_string_literal: true

require "em-http-request"
require_relative "client"

module Bench
  module HTTP
    module Clients
      # Callbacks on EventMachine's reactor: as many connections as may be in flight, each asks again when answered.
      class EmHttpRequest < Client
        def initialize(site, limit)
          super
          EventMachine.epoll
          EventMachine.set_descriptor_table_size(Process.getrlimit(:NOFILE).first)
        end

        def requests(targets) = targets

        def get(requests)
          @requests = requests
          @bodies = Array.new(requests.size)
          @asked = @done = 0
          EventMachine.run { [limit, requests.size].min.times { ask(EventMachine::HttpRequest.new(site.origin)) } }
          @bodies
        end

        private

        def ask(connection)
          index = @asked
          @asked += 1
          path, query = @requests[index].split("?")
          call = connection.get(path: path, query: query, keepalive: true)
          call.callback { answered(connection, index, call.response) }
          call.errback { raise "#{@requests[index]}: #{call.error}" }
        end

        def answered(connection, index, body)
          @bodies[index] = body
          @done += 1
          ask(connection) if @asked < @requests.size
          EventMachine.stop if @done == @requests.size
        end
      end
    end
  end
end
