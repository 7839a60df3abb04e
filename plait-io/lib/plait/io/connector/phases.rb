# frozen_string_literal: true

module Plait
  module Io
    class Connector
      # How long each part of connecting took, in seconds; nil where there was none. After a failure the last one that is
      # set is the one that failed.
      Phases = Struct.new(:resolve, :connect, :tls) do
        # The socket, from its connection on: a method that an interrupt ends as it returns gives its caller nothing. The caller
        # sets it to nil once it has the socket, and else calls {#close}.
        # @return [Socket, nil]
        attr_accessor :socket

        # @return [void]
        def close
          @socket&.close
          @socket = nil
        end
      end
    end
  end
end
