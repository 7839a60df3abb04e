# frozen_string_literal: true

require "curb"
require_relative "client"

module Bench
  module HTTP
    module Clients
      # libcurl with as many handles as may be in flight, each given the next URL as soon as it is done: the fastest way
      # to use curb.
      class CurbRecycled < Client
        def initialize(site, limit)
          super
          @multi = Curl::Multi.new
          @multi.max_connects = limit
          @handles = []
          @places = {}.compare_by_identity
        end

        def get(requests)
          @requests = requests
          @bodies = Array.new(requests.size)
          @asked = 0
          handles([limit, requests.size].min).each { |handle| ask(handle) }
          @multi.perform
          @bodies
        end

        private

        def handles(number)
          @handles << handle while @handles.size < number
          @handles.first(number)
        end

        def handle
          Curl::Easy.new.tap do |easy|
            easy.cacert = site.ca_file if site.tls
            easy.on_complete { answered(easy) }
          end
        end

        # The handle may be asked again from within.
        def answered(handle)
          @bodies[@places[handle]] = handle.body
          ask(handle) if @asked < @requests.size
        end

        def ask(handle)
          handle.url = @requests[@asked]
          @places[handle] = @asked
          @asked += 1
          @multi.add(handle)
        end
      end
    end
  end
end
