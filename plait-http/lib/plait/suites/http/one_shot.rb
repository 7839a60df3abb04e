# frozen_string_literal: true

require "net/http"
require "plait/suites/common/suite"

module Plait
  module Suites
    class Http < Suite
      # A body: one request on a connection of its own.
      class OneShot
        # @param row [#uri, #verify] what to ask, and whether the answer is right
        def initialize(row)
          @row = row
        end

        # @param id [Integer] of the request
        # @return [Integer] the id, when the answer was the one to this request
        def call(id)
          @row.verify(id, Net::HTTP.get_response(@row.uri(id)))
          id
        end

        # @return [Proc]
        def to_proc = method(:call).to_proc
      end
    end
  end
end
