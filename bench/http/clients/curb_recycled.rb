# frozen_string_literal: true

require "curb"
require_relative "client"

module Bench
  module HTTP
    module Clients
      # libcurl with as many handles as may be in flight, each given the next URL as soon as it is done: the fastest way
      # to use curb.
      class CurbRecycled < Client
        # One of curb's handles, and which request it is busy with.
        class Handle
          # @yieldparam handle [Handle] that is done; it may be asked again from within
          def initialize(multi, ca_file)
            @multi = multi
            @easy = Curl::Easy.new
            @easy.cacert = ca_file if ca_file
            @easy.on_complete { yield self }
          end

          attr_reader :index

          def ask(index, url)
            @index = index
            @easy.url = url
            @multi.add(@easy)
          end

          def body = @easy.body
        end

        def initialize(site, limit)
          super
          @multi = Curl::Multi.new
          @multi.max_connects = limit
          @handles = []
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
          Handle.new(@multi, (site.ca_file if site.tls)) do |done|
            @bodies[done.index] = done.body
            ask(done) if @asked < @requests.size
          end
        end

        def ask(handle)
          index = @asked
          @asked += 1
          handle.ask(index, @requests[index])
        end
      end
    end
  end
end
