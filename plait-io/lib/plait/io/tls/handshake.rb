# frozen_string_literal: true

require "io/wait"
require "openssl"
require "plait/values/errors"

module Plait
  module Io
    module TLS
      # Either side's handshake, without blocking and within a deadline.
      module Handshake
        NEVER = { Object => :never }.freeze

        module_function

        # @param socket [Socket]
        # @param step [Symbol] :connect_nonblock or :accept_nonblock
        # @param deadline [Deadline, nil]
        # @return [Socket]
        # @raise [ConnectTimeout]
        # @raise [OpenSSL::SSL::SSLError, SystemCallError]
        def run(socket, step, endpoint, deadline)
          while (want = step(socket, step)).is_a?(Symbol)
            socket.to_io.public_send(want, deadline&.remaining) or raise late(endpoint)
          end
          socket
        end

        # OpenSSL calls back into Ruby, and loses or crashes by an exception that another thread raises there.
        # @api private
        def step(socket, name) = Thread.handle_interrupt(NEVER) { socket.public_send(name, exception: false) }

        # @api private
        def late(endpoint)
          ConnectTimeout.new("no end of the TLS handshake with #{endpoint || "the peer"} in time",
                             endpoint: endpoint, phase: :tls)
        end
      end
    end
  end
end
