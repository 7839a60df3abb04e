# frozen_string_literal: true

require "io/wait"
require "openssl"
require_relative "../../values/errors"

module Plait
  module Io
    module TLS
      # Either side's handshake, without blocking and within a deadline.
      module Handshake
        module_function

        # @param socket [Socket]
        # @param step [Symbol] :connect_nonblock or :accept_nonblock
        # @param deadline [Deadline, nil]
        # @return [Socket]
        # @raise [ConnectTimeout]
        # @raise [OpenSSL::SSL::SSLError, SystemCallError]
        def run(socket, step, endpoint, deadline)
          while (want = socket.public_send(step, exception: false)).is_a?(Symbol)
            socket.to_io.public_send(want, deadline&.remaining) or raise late(endpoint)
          end
          socket
        end

        # @api private
        def late(endpoint)
          ConnectTimeout.new("no end of the TLS handshake with #{endpoint || "the peer"} in time",
                             endpoint: endpoint, phase: :tls)
        end
      end
    end
  end
end
