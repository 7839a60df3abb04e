# frozen_string_literal: true

require "socket"
require "plait/io/listener"

module Plait
  module CLI
    class Shard < Command
      # Takes over from a running process, or hands over to a new one. The listening sockets go from one process to the other, so
      # no connection is refused. They are announced as by a service manager (sd_listen_fds(3)), which may open them, too.
      module Succession
        # Seconds for the new process to serve.
        PATIENCE = 60
        # A descriptor to which the new process writes when it serves.
        READY = "PLAIT_SHARD_READY_FD"
        # A shell knows its own process before it becomes the program.
        WITH_ITS_PID = 'LISTEN_PID=$$ exec "$@"'
        private_constant :WITH_ITS_PID

        module_function

        # @param env [ENV, Hash] the variables that announce the sockets are removed
        # @return [Hash{Symbol => Array<Socket>}] inherited sockets: :listen, :metrics
        # @raise [ListenError]
        def take_over(env = ENV)
          names = env["LISTEN_FDNAMES"].to_s.split(":")
          sockets = Io::Listener::Inheritance.take(env)
          sockets.each_with_index.group_by { |_, i| names[i] == "metrics" ? :metrics : :listen }
                 .transform_values { |pairs| pairs.map(&:first) }
        end

        # Announces to the starting process that this one serves.
        def serving(env = ENV)
          descriptor = env.delete(READY)
          IO.open(Integer(descriptor, 10), "w") { |pipe| pipe.write("ready") } if descriptor
          Io::Listener::Inheritance.notify("READY=1\nMAINPID=#{Process.pid}", env)
        rescue SystemCallError
          nil # the starting process has ended
        end

        # Starts this program again, with the same arguments and these sockets.
        # @param sockets [Hash{Symbol => Array<Socket>}]
        # @return [Integer] the process that serves now
        # @raise [UnsupportedError, TimeoutError] it does not
        def start(sockets)
          reader, writer = IO.pipe
          pid = launch(sockets, writer)
          writer.close
          await(reader, pid)
          Process.detach(pid)
          pid
        ensure
          [reader, writer].each { |pipe| pipe&.close }
        end

        # @api private
        def launch(sockets, writer)
          pairs = sockets.flat_map { |name, list| list.map { |socket| [name, socket] } }
          descriptors = [*pairs.map(&:last), writer]
          first = Io::Listener::Inheritance::FIRST
          env = { "LISTEN_FDS" => pairs.size.to_s, "LISTEN_FDNAMES" => pairs.map(&:first).join(":"),
                  READY => (first + pairs.size).to_s }
          Process.spawn(env, "/bin/sh", "-c", WITH_ITS_PID, "sh", *command,
                        descriptors.each_with_index.to_h { |io, i| [first + i, io.fileno] })
        end

        # The kernel's copy has the options of Ruby, too.
        def command = File.binread("/proc/self/cmdline").split("\0")

        def await(reader, pid)
          raise TimeoutError, "the new process does not serve after #{PATIENCE} s" unless reader.wait_readable(PATIENCE)
          return if reader.read == "ready"

          _, status = Process.wait2(pid)
          raise UnsupportedError, "the new process has ended without serving (#{status.to_s[/exit \d+|SIG\w+.*/] || status})"
        rescue TimeoutError
          Process.kill(:KILL, pid)
          Process.wait(pid)
          raise
        end

        private_class_method :launch, :command, :await
      end
    end
  end
end
