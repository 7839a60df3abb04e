# frozen_string_literal: true

require_relative "limits"

module Plait
  module Protocols
    module HTTP1
      # What makes a parser one of responses.
      module ResponseRole
        # @param limits [Limits]
        def initialize(limits: Limits.new)
          super()
          set_up(:response, limits)
        end

        # Before each response but the first, if that is one to a GET. Bytes that are there already belong to it.
        #
        # @param method [String] of its request: HEAD and CONNECT have responses of their own form
        # @param upgrade [Boolean] whether the request had an Upgrade field, so that 101 is an answer
        # @return [self]
        # @raise [LocalProtocolError] in the middle of a message
        def start(method: "GET", upgrade: false) = begin_message(method == "HEAD", method == "CONNECT", upgrade)
      end
    end
  end
end
