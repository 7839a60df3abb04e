# frozen_string_literal: true

require "io/nonblock"
require "socket"
require_relative "endpoint"
require_relative "listener/binding"
require_relative "stream"
require_relative "native"
require "plait/mechanisms/readiness"

module Plait
  module Io
    # A listening socket: TCP or UNIX, opened or inherited, and the loop that accepts from it.
    #
    # @example
    #   listener = Io::Listener.open(Io::Endpoint.parse("tcp://127.0.0.1:0"))
    #   listener.each { |socket| Thread.new { serve(listener.stream(socket)) } }
    class Listener
      # Connections accepted before others get their turn.
      BATCH = 64
      # What accept(2) says of one connection that is gone already, or of a network that was: there may be others.
      PASSING = [
        Errno::ECONNABORTED, Errno::ECONNRESET, Errno::EPROTO, Errno::EPERM, Errno::ETIMEDOUT, Errno::ENETDOWN,
        Errno::ENETUNREACH, Errno::EHOSTUNREACH, Errno::EHOSTDOWN, Errno::ENOPROTOOPT, Errno::EOPNOTSUPP, Errno::EINTR
      ].freeze
      # What it says when there is no room for a connection. It stays in the backlog.
      EXHAUSTED = [Errno::EMFILE, Errno::ENFILE, Errno::ENOBUFS, Errno::ENOMEM].freeze
      # Seconds until it is asked again then: the first time, and at most.
      FIRST_PAUSE = 0.02
      LONGEST_PAUSE = 1.0

      class << self
        # @param endpoint [Endpoint] with port 0 for any that is free; `tls://` needs tls:
        # @param backlog [Integer] connections that wait to be accepted, as far as the kernel allows (see {#capped_backlog})
        # @param reuse_port [Boolean] let several processes listen there, each with a queue of its own (SO_REUSEPORT)
        # @param tls [TLS::Server, nil]
        # @param mode [Integer, nil] permissions of a UNIX socket's file
        # @param later [Boolean] refuse connections until {#listen} is called
        # @param http2 [Boolean] whether peers without TLS may begin with HTTP/2: for servers that speak HTTP here
        # @return [Listener]
        # @raise [ListenError]
        def open(endpoint, backlog: 1024, reuse_port: false, tls: nil, mode: nil, http2: false, later: false)
          raise UsageError, "#{endpoint} is for datagrams; connections need tcp://, tls:// or unix://" if endpoint.udp?
          raise UsageError, "#{endpoint} speaks TLS: give tls: { certificate: FILE, key: FILE }" if endpoint.tls? && !tls

          io = Binding.new(endpoint, reuse_port: reuse_port, mode: mode).listen(later ? nil : backlog)
          file = SocketFile.new(endpoint.path) if endpoint.unix?
          new(io, scheme: endpoint.scheme, tls: tls, backlog: backlog, file: file, http2: http2, later: later)
        end

        # The sockets that a service manager has opened for us (sd_listen_fds(3)). The variables that tell of them are
        # removed, so that our children don't take theirs for ours.
        # @return [Array<Listener>]
        # @raise [ListenError] for what is no listening socket
        def from_environment(env = ENV, tls: nil)
          Inheritance.take(env).map { |io| new(io, scheme: tls ? :tls : :tcp, tls: tls) }
        end
      end

      # @return [Endpoint] where it listens, with the real port
      attr_reader :endpoint
      # @return [Socket]
      attr_reader :io
      # @return [TLS::Server, nil]
      attr_reader :tls

      # @param io [Socket] that listens
      # @param scheme [Symbol] :tcp or :tls, for what is no UNIX socket
      # @param file [SocketFile, nil] to remove in the end
      def initialize(io, scheme: :tcp, tls: nil, backlog: nil, file: nil, http2: false, later: false)
        @io = io
        @io.nonblock = true
        @tls = tls
        @backlog = backlog
        @file = file
        @http2 = http2
        @later = later
        @endpoint = locate(scheme)
        @lock = Mutex.new
        @releasing = Mutex.new
        @users = 0
        @pause = FIRST_PAUSE
      end

      # Lets peers connect, where it was opened for later; also in a fork, for all processes that have the socket.
      # @raise [ListenError] another process has taken the place meanwhile
      def listen
        return unless @later

        Binding.new(@endpoint, reuse_port: false, mode: nil).telling do
          raise Errno::EADDRINUSE if @file && !@file.ours?

          @io.listen(@backlog)
        end
        @later = false
      end

      # @return [Integer, nil] the backlog as the kernel has cut it; nil when it is what was asked for
      def capped_backlog
        limit = Integer(File.read("/proc/sys/net/core/somaxconn"))
        limit if @backlog && limit < @backlog
      rescue SystemCallError
        nil
      end

      # Accepts connections until {#stop} or {#close}, in batches. It goes on after what concerns one connection only, and
      # pauses while there is no descriptor or memory for another one.
      # @param on_error [#call, nil] is given each error it goes on after
      # @param before [#call, nil] called before it asks for a connection: several processes may listen on one socket, and not
      #   each of them be equally in need
      # @yieldparam socket [Socket] the block's own from now on; the loop waits for the block, which so should only begin
      def each(on_error: nil, before: nil)
        accepted = 0
        use do
          until @stopped
            before&.call
            case socket = patiently(on_error) { accept_now }
            when nil then Readiness.wait([@io, @wake.first], [], nil)
            when Socket
              yield socket
              sleep(0) if (accepted += 1) % BATCH == 0 # others may have waited as long as these
            end
          end
        end
      end

      # @param socket [Socket] accepted here
      # @param deadline [Deadline, nil] for the handshake, where TLS is spoken
      # @raise [TLSError, ConnectTimeout] the socket is then closed
      def stream(socket, deadline: nil)
        peer = peer_of(socket)
        Stream.new(@tls ? @tls.handshake(socket, peer, deadline: deadline) : socket, endpoint: peer)
      end

      # Ends {#each} in this process, for good; what is in the backlog stays there, for other processes that
      # listen. From any thread, fiber or signal handler.
      def stop
        @stopped = true
        @wake&.last&.write_nonblock(".", exception: false)
      rescue IOError, SystemCallError
        nil # the loop has ended
      end

      # Stops, and closes the socket as soon as no thread waits on it. The file of a UNIX socket is removed by the process that
      # has made it.
      def close
        @closed = true
        stop
        release if @users.zero?
      end

      def closed? = @closed || false

      # @return [Boolean] whether peers without TLS may begin with HTTP/2
      def http2? = @http2

      def inspect = "#<#{self.class} #{@endpoint}#{" closed" if @closed}>"

      private

      def locate(scheme)
        address = @io.local_address
        return Endpoint.unix(address.unix_path) if address.unix?

        Endpoint.new(scheme, address.ip_address, address.ip_port)
      end

      def peer_of(socket)
        address = socket.remote_address
        address.ip? ? Endpoint.tcp(address.ip_address, address.ip_port) : @endpoint
      rescue SystemCallError
        @endpoint # it is gone already
      end

      # @return [Object] the block's value; :again after what it may go on after
      def patiently(on_error)
        value = yield
        @pause = FIRST_PAUSE
        value
      rescue *PASSING => e
        on_error&.call(e)
        :again
      rescue *EXHAUSTED => e
        on_error&.call(e)
        rest
        :again
      end

      # @return [Socket, nil] nil when the backlog is empty
      def accept_now
        return accept_natively if Native.available?

        socket, = @io.accept_nonblock(exception: false)
        return if socket == :wait_readable

        socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1) unless @endpoint.unix?
        socket
      end

      # It does not ask for the peer's address, which {#stream} does.
      def accept_natively
        Uninterruptible.run do # an interrupt here would leak the descriptor
          descriptor = NativeConnect.accept(@io, !@endpoint.unix?)
          ::Socket.for_fd(descriptor) if descriptor
        end
      end

      # Longer each time, and no longer than until the word to stop.
      def rest
        @wake.first.wait_readable(@pause)
        @pause = [@pause * 2, LONGEST_PAUSE].min
      end

      # A thread that waits on the socket keeps it open.
      def use
        used = nil
        @lock.synchronize do
          open_wake
          used = @users += 1
        end
        yield
      ensure
        # An interrupt in between would leave an end of the pipe open.
        Uninterruptible.run { release if used && @lock.synchronize { @users -= 1 }.zero? && @closed }
      end

      # A pipe that wakes the waiting thread: a close(2) would not (epoll forgets the socket), and a shutdown(2) would stop the
      # socket for all processes that have it.
      def open_wake
        return if @closed || (@wake && @generation == Native.fork_generation)

        @generation = Native.fork_generation
        @wake = IO.pipe
      end

      # One at a time: an IO that two close raises Errno::EBADF. A signal handler can't wait for a lock.
      def release
        mine = @releasing.try_lock or return
        @io.close
        @wake&.each(&:close) if @generation == Native.fork_generation
        @file&.remove
      ensure
        @releasing.unlock if mine
      end
    end
  end
end
