# frozen_string_literal: true

require "plait/suites/http"
require_relative "../../../http"

module Plait
  module Suites
    class Http < Suite
      # By Plait::HTTP, whose pool of connections all requests of a row share.
      class PlaitClient < Body
        # @param limit [Integer] in flight at once
        def initialize(row, limit)
          super(row)
          @client = HTTP::Client.new(pool: { per_key: limit, max: limit })
        end

        private

        def ask(id)
          response = @client.get(@row.uri(id).to_s)
          Answer.new(response.status.to_s, response.body, response.reason)
        end
      end

      register("Plait::HTTP") { |row, limit| PlaitClient.new(row, limit) }
    end
  end
end
