# frozen_string_literal: true

require_relative "limits"

module Plait
  module Protocols
    module HTTP1
      # What makes a parser one of requests.
      module RequestRole
        # @param limits [Limits]
        def initialize(limits: Limits.new)
          super()
          set_up(:request, limits)
        end

        # Before each request but the first. Bytes that are there already belong to it.
        #
        # @return [self]
        # @raise [LocalProtocolError] in the middle of a message
        def start = begin_message(false, false, false)
      end
    end
  end
end
