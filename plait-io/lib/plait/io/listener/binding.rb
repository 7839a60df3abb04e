# frozen_string_literal: true

require "socket"
require "plait/values/errors"

module Plait
  module Io
    class Listener
      # Opens a socket at an endpoint.
      class Binding
        ADVICE = {
          Errno::EADDRINUSE => "somebody listens there already (several can, when each says reuse_port: true)",
          Errno::EACCES => "this user may not: ports below 1024 are for root or CAP_NET_BIND_SERVICE",
          Errno::EADDRNOTAVAIL => "this machine doesn't have that address",
          Errno::ENOENT => "the folder of the socket's file does not exist"
        }.freeze

        # JRuby has a class of its own for sockets that listen, and listens as it binds.
        JRUBY = RUBY_ENGINE == "jruby"
        SOCKET = JRUBY ? ::ServerSocket : ::Socket
        private_constant :JRUBY, :SOCKET

        # @param endpoint [Endpoint]
        # @param reuse_port [Boolean]
        # @param mode [Integer, nil]
        def initialize(endpoint, reuse_port:, mode:)
          @endpoint = endpoint
          @reuse_port = reuse_port
          @mode = mode
        end

        # @param backlog [Integer, nil] nil: it only has the place, and whoever connects is refused until it listens, too
        # @return [Socket]
        # @raise [ListenError]
        def listen(backlog) = telling { @endpoint.unix? ? listen_unix(backlog) : listen_tcp(backlog) }

        # @yield what may fail
        # @raise [ListenError]
        def telling
          yield
        rescue SystemCallError, SocketError => e
          raise ListenError.new("can't listen on #{@endpoint}: #{advice(e)}", endpoint: @endpoint)
        end

        private

        def advice(error)
          return ADVICE[error.class] || error.message unless @endpoint.unix? && error.is_a?(Errno::EADDRINUSE)

          File.socket?(@endpoint.path) ? "somebody listens there already" : "there is a file already, which is no socket"
        end

        def listen_tcp(backlog)
          address = Addrinfo.getaddrinfo(@endpoint.host, @endpoint.port, nil, :STREAM, nil, Socket::AI_PASSIVE).first
          socket(address.afamily) do |socket|
            socket.setsockopt(Socket::SOL_SOCKET, Socket::SO_REUSEADDR, 1)
            socket.setsockopt(Socket::SOL_SOCKET, Socket::SO_REUSEPORT, 1) if @reuse_port
            JRUBY ? socket.bind(address, backlog) : socket.bind(address)
            socket.listen(backlog) if backlog && !JRUBY
          end
        end

        # Nobody can connect before listen(2), so that the permissions are never wider than asked for.
        def listen_unix(backlog)
          remove_dead_file
          socket(Socket::AF_UNIX) do |socket|
            socket.bind(Addrinfo.unix(@endpoint.path))
            File.chmod(@mode, @endpoint.path) if @mode
            socket.listen(backlog) if backlog
          end
        end

        def socket(family)
          socket = SOCKET.new(family, Socket::SOCK_STREAM, 0)
          yield socket
          done = socket
        ensure
          socket&.close unless done
        end

        # The file of a process that was killed stays behind; who listens answers.
        def remove_dead_file
          return unless File.socket?(@endpoint.path)

          Socket.unix(@endpoint.path).close
        rescue Errno::ECONNREFUSED
          File.unlink(@endpoint.path)
        end
      end
    end
  end
end
