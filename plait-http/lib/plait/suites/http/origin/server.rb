# frozen_string_literal: true

require "socket"
require "plait/suites/common/descriptor_limit"
require_relative "connection"
require_relative "statistics"

module Plait
  module Suites
    class Origin
      # The origin's own process: listens, tells its port, and answers until it is killed or its parent is gone.
      class Server
        BACKLOG = 16_384
        # Between two looks at whether the parent is still there.
        PARENT_CHECK_SECONDS = 0.2
        # Before the next try when the process has no descriptor left for a new connection.
        OUT_OF_DESCRIPTORS_PAUSE = 0.01

        # @param latency [Float] seconds
        # @param parent [Integer] the process id without which there is no use going on
        # @param per_connection [Symbol] :fibers or :threads
        # @param handshake [IO] is told the port, or what went wrong
        def self.run(latency:, parent:, per_connection:, handshake: $stdout)
          ignore_interrupts
          DescriptorLimit.lift
          server = new(latency, loop_of(per_connection))
          handshake.puts("port #{server.port}")
          handshake.flush
          server.run(parent)
        rescue SystemCallError, LoadError => e
          handshake.puts(e.message.lines.first)
          handshake.flush
        end

        # Only one of them is loaded: io-event is missing where threads are asked for.
        def self.loop_of(per_connection)
          case per_connection
          when :threads
            require_relative "thread_loop"
            ThreadLoop.new
          else
            require_relative "fiber_loop"
            FiberLoop.new
          end
        end
        private_class_method :loop_of

        # Ctrl-C reaches the whole process group: the parent still needs the origin while it ends what it measures.
        def self.ignore_interrupts
          trap("INT", "IGNORE")
          trap("TERM", "SYSTEM_DEFAULT")
        end
        private_class_method :ignore_interrupts

        def initialize(latency, waits)
          @latency = latency
          @waits = waits
          @statistics = Statistics.new
          @socket = TCPServer.new("127.0.0.1", 0)
          @socket.listen(BACKLOG)
        end

        # @return [Integer]
        def port = @socket.local_address.ip_port

        # Answers until the parent is gone.
        def run(parent)
          @waits.spawn { accept_all }
          @waits.spawn { leave_with(parent) }
          @waits.run
        end

        private

        def accept_all
          loop { accept }
        end

        def accept
          socket = @socket.accept_nonblock(exception: false)
          return @waits.wait_readable(@socket) if socket == :wait_readable

          socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1)
          @waits.spawn { Connection.new(socket, @waits, @statistics, @latency).run }
        rescue Errno::EMFILE, Errno::ENFILE
          @waits.sleep(OUT_OF_DESCRIPTORS_PAUSE)
        rescue SystemCallError
          nil # this client went away before it was accepted
        end

        # By asking, not by a pipe's end: every process the parent forks meanwhile would keep such a pipe open.
        def leave_with(parent)
          @waits.sleep(PARENT_CHECK_SECONDS) while Process.ppid == parent
          exit!(0)
        end
      end
    end
  end
end
