# frozen_string_literal: true

module Plait
  module Io
    class Listener
      # Opens a socket at an endpoint.
      class Binding
        ADVICE = {
          Errno::EADDRINUSE => "a process listens there already (several can, when each says reuse_port: true)",
          Errno::EACCES => "this user may not: ports below 1024 are for root or CAP_NET_BIND_SERVICE",
          Errno::EADDRNOTAVAIL => "this machine doesn't have that address",
          Errno::ENOENT => "the folder of the socket's file does not exist"
        }.freeze

        # Of sockets with a file, by whether a socket is there.
        UNIX = {
          Errno::EADDRINUSE => { true => "a process listens there already", false => "a file that is no socket is there" },
          Errno::EACCES => { true => "there is a socket of another user already", false => "this user may not write in that folder" }
        }.freeze

        # JRuby has a class of its own for sockets that listen, and listens as it binds.
        JRUBY = RUBY_ENGINE == "jruby"
        SOCKET = JRUBY ? ::ServerSocket : ::Socket

        def initialize(endpoint, reuse_port:, mode:)
          @endpoint = endpoint
          @reuse_port = reuse_port
          @mode = mode
        end

        # @param backlog [Integer, nil] nil: it is bound only, and connections are refused until it listens
        # @raise [ListenError]
        def listen(backlog) = telling { @endpoint.unix? ? listen_unix(backlog) : listen_tcp(backlog) }

        # @yield what may fail
        def telling
          yield
        rescue SystemCallError, SocketError => e
          raise ListenError.new("can't listen on #{@endpoint}: #{advice(e)}", endpoint: @endpoint)
        end

        private

        def advice(error)
          of_file = UNIX.dig(error.class, File.socket?(@endpoint.path)) if @endpoint.unix?
          of_file || ADVICE[error.class] || error.message
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

        # No peer can connect before listen(2), so the permissions are never wider than asked for.
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

        # A killed process leaves its file behind; a live one accepts the connection.
        def remove_dead_file
          return unless File.socket?(@endpoint.path)

          Socket.unix(@endpoint.path).close
        rescue Errno::ECONNREFUSED
          File.unlink(@endpoint.path)
        end
      end

      # The file of a UNIX socket that this process has made, and that only this process removes: its forks share the
      # socket, and another process may have put its own file there since.
      class SocketFile
        def initialize(path)
          @path = path
          @generation = Native.fork_generation
          @identity = identity
        end

        def remove
          File.unlink(@path) if @generation == Native.fork_generation && ours?
        rescue SystemCallError
          nil # it is gone
        end

        # @return [Boolean] whether the file is still the one that was made
        def ours?
          identity == @identity
        rescue SystemCallError
          false
        end

        private

        def identity
          stat = File.lstat(@path)
          [stat.dev, stat.ino]
        end
      end

      # Sockets from a service manager: LISTEN_FDS of them from descriptor 3 on, if LISTEN_PID is ours.
      module Inheritance
        FIRST = 3
        VARIABLES = %w[LISTEN_FDS LISTEN_PID LISTEN_FDNAMES].freeze
        # A line that is soon sent again; and seconds for a service manager that lags, whose queue takes ten lines.
        REPEATED = "WATCHDOG=1"
        PATIENCE = 2

        module_function

        # @param env [ENV, Hash] the variables are removed from it
        # @raise [ListenError] for a descriptor that is no listening socket
        def take(env)
          return [] unless env["LISTEN_PID"].to_i == Process.pid

          count = number(env["LISTEN_FDS"])
          VARIABLES.each { |name| env.delete(name) }
          Array.new(count) { |index| socket(FIRST + index) }
        end

        # Tells the service manager how it is (sd_notify(3)), if there is one. Also from a signal handler.
        # @param text [String] "READY=1", and more lines
        def notify(text, env = ENV)
          path = env["NOTIFY_SOCKET"] or return
          socket = Socket.new(:UNIX, :DGRAM)
          socket.connect(Addrinfo.unix(path.sub(/\A@/, "\0")))
          sent = socket.write_nonblock(text, exception: false)
          return if sent.is_a?(Integer) || text.start_with?(REPEATED) || !socket.wait_writable(PATIENCE)

          socket.write_nonblock(text, exception: false)
        rescue SystemCallError
          nil # it is gone
        ensure
          socket&.close
        end

        def number(text)
          number = Integer(text, 10, exception: false)
          return number if number && number >= 0

          raise ListenError, "LISTEN_FDS is how many sockets there are, not #{text.inspect}"
        end

        def socket(descriptor)
          socket = Socket.for_fd(descriptor)
          socket.close_on_exec = true
          return socket if socket.getsockopt(Socket::SOL_SOCKET, Socket::SO_ACCEPTCONN).bool

          socket.autoclose = false # another owner's descriptor
          raise ListenError, "descriptor #{descriptor} of LISTEN_FDS is a socket that does not listen"
        rescue Errno::EBADF, Errno::ENOTSOCK
          raise ListenError, "descriptor #{descriptor} of LISTEN_FDS is no socket: does LISTEN_FDS say too many?"
        end
      end
    end
  end
end
