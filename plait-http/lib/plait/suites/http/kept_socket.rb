# frozen_string_literal: true

require "socket"
require "plait/suites/common/suite"
require_relative "raw_socket"

module Plait
  module Suites
    class Http < Suite
      # As {RawSocket}, on sockets that are kept: whoever needs one takes one that is idle, or opens the next.
      class KeptSocket < RawSocket
        def initialize(row)
          super
          @idle = []
        end

        # @param id [Integer] of the request
        # @return [Integer] the id, when the answer was the one to this request
        def call(id)
          uri = @row.uri(id)
          socket = @idle.pop || TCPSocket.new(uri.hostname, uri.port)
          answer = ask(socket, uri, id, "keep-alive")
          @idle.push(socket)
          @row.verify(id, answer)
          id
        ensure
          socket&.close unless answer
        end
      end
    end
  end
end
