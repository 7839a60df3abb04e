# frozen_string_literal: true

require "socket"
require "plait/values/errors"

module Plait
  module Io
    class Listener
      # Sockets from a service manager: LISTEN_FDS of them from descriptor 3 on, if LISTEN_PID is ours.
      module Inheritance
        FIRST = 3
        VARIABLES = %w[LISTEN_FDS LISTEN_PID LISTEN_FDNAMES].freeze

        module_function

        # @param env [ENV, Hash] the variables are removed from it
        # @return [Array<Socket>]
        # @raise [ListenError] for a descriptor that is no listening socket
        def take(env)
          return [] unless env["LISTEN_PID"].to_i == Process.pid

          count = number(env["LISTEN_FDS"])
          VARIABLES.each { |name| env.delete(name) }
          Array.new(count) { |index| socket(FIRST + index) }
        end

        # Tells the service manager how it is (sd_notify(3)), if there is one. Also from a signal handler.
        # @param text [String] "READY=1", and more lines
        # @return [void]
        def notify(text, env = ENV)
          path = env["NOTIFY_SOCKET"] or return
          socket = Socket.new(:UNIX, :DGRAM)
          socket.connect(Addrinfo.unix(path.sub(/\A@/, "\0")))
          socket.write_nonblock(text, exception: false)
        rescue SystemCallError
          nil # it is gone, or takes nothing now
        ensure
          socket&.close
        end

        # @api private
        def number(text)
          number = Integer(text, 10, exception: false)
          return number if number && number >= 0

          raise ListenError, "LISTEN_FDS is how many sockets there are, not #{text.inspect}"
        end

        # @api private
        def socket(descriptor)
          socket = Socket.for_fd(descriptor)
          socket.close_on_exec = true
          return socket if socket.getsockopt(Socket::SOL_SOCKET, Socket::SO_ACCEPTCONN).bool

          socket.autoclose = false # it is somebody else's
          raise ListenError, "descriptor #{descriptor} of LISTEN_FDS is a socket that does not listen"
        rescue Errno::EBADF, Errno::ENOTSOCK
          raise ListenError, "descriptor #{descriptor} of LISTEN_FDS is no socket: does LISTEN_FDS say too many?"
        end
      end
    end
  end
end
