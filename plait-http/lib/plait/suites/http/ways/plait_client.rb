# frozen_string_literal: true

require "plait/suites/common/suite"
require "plait/suites/http"
require_relative "../../../http"

module Plait
  module Suites
    class Http < Suite
      # A body: one request by Plait::HTTP, whose pool of connections all requests of a row share.
      class PlaitClient
        # @param row [#uri, #verify] what to ask, and whether the answer is right
        # @param limit [Integer] in flight at once
        def initialize(row, limit)
          @row = row
          @client = HTTP::Client.new(pool: { per_key: limit, max: limit })
        end

        # @param id [Integer] of the request
        # @return [Integer] the id, when the answer was the one to this request
        def call(id)
          response = @client.get(@row.uri(id).to_s)
          @row.verify(id, Answer.new(response.status.to_s, response.body, response.reason))
          id
        end

        def to_proc = method(:call).to_proc
      end

      register("Plait::HTTP") { |row, limit| PlaitClient.new(row, limit) }
    end
  end
end
