# frozen_string_literal: true

require "net/http"
require "plait/suites/common/suite"

module Plait
  module Suites
    class Http < Suite
      # A body: one request on a connection that is kept. There come to be as many connections as requests in flight:
      # whoever needs one takes one that is idle, or opens the next.
      class KeepAlive
        # @param row [#uri, #path, #verify] what to ask, and whether the answer is right
        def initialize(row)
          @row = row
          @idle = []
          @owner = Process.pid
          @lock = Mutex.new
        end

        # @param id [Integer] of the request
        # @return [Integer] the id, when the answer was the one to this request
        def call(id)
          http = take || connect(@row.uri(id))
          response = request(http, @row.path(id))
          give_back(http)
          @row.verify(id, response)
          id
        end

        # @return [Proc]
        def to_proc = method(:call).to_proc

        private

        # A connection that was opened before a fork is the parent's.
        def take
          @lock.synchronize do
            @idle.clear.then { @owner = Process.pid } unless @owner == Process.pid
            @idle.pop
          end
        end

        def give_back(http) = @lock.synchronize { @idle.push(http) }

        def connect(uri) = Net::HTTP.start(uri.hostname, uri.port, use_ssl: uri.is_a?(URI::HTTPS))

        # A connection on which something went wrong, or somebody stopped waiting, is not used again.
        def request(http, path)
          response = http.request_get(path)
        ensure
          http.finish unless response
        end
      end
    end
  end
end
