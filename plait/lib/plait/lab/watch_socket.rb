# frozen_string_literal: true

require "io/wait"
require "json"
require "socket"

module Plait
  module Lab
    # A UNIX socket at which a {Watch} answers each connection with one snapshot in JSON, for `plait attach`. Only the user of
    # the process may connect.
    class WatchSocket
      # Connections that wait.
      BACKLOG = 8
      # Bytes of a path, as the kernel takes it.
      LONGEST = 107
      # Seconds for a client to read; raising it lets one that reads nothing keep others waiting.
      PATIENCE = 2

      attr_reader :path
      # @return [Thread] that answers
      attr_reader :thread

      # @param path [String] %p stands for the number of the process
      # @yieldreturn [Hash] the snapshot
      # @raise [UsageError] nothing can listen there
      def initialize(path, &snapshot)
        @path = expand(path)
        @snapshot = snapshot
        @owner = Process.pid
        @server = listen
        @thread = Thread.new { Thread.handle_interrupt(Object => :immediate) { serve } }
        @thread.name = "plait watch socket"
        @thread.report_on_exception = false
      end

      def close
        @thread.kill.join
        @server.close
        File.unlink(path) if Process.pid == @owner
      rescue Errno::ENOENT
        nil
      end

      private

      def expand(path)
        full = File.expand_path(path.to_s.gsub("%p", Process.pid.to_s))
        return full if full.bytesize <= LONGEST

        raise UsageError, "socket: #{full} is too long: a path of a UNIX socket has at most #{LONGEST} bytes"
      end

      # The mode is set before anything can connect.
      def listen
        remove_stale
        Socket.new(:UNIX, :STREAM).tap do |server|
          server.bind(Addrinfo.unix(path))
          File.chmod(0o600, path)
          server.listen(BACKLOG)
        end
      rescue SystemCallError => e
        raise UsageError, "socket: can't listen at #{path}: #{e.message}"
      end

      # Of a process that was killed.
      def remove_stale
        return unless File.socket?(path)

        UNIXSocket.open(path, &:close)
        raise UsageError, "socket: another process listens at #{path}; with %p in the path each process has its own"
      rescue Errno::ECONNREFUSED
        File.unlink(path)
      end

      def serve = loop { answer(@server.accept.first) }

      def answer(client)
        bytes = "#{JSON.generate(@snapshot.call)}\n".b
        until bytes.empty?
          written = client.write_nonblock(bytes, exception: false)
          next bytes = bytes.byteslice(written..) if written.is_a?(Integer)
          break unless client.wait_writable(PATIENCE)
        end
      rescue SystemCallError, IOError
        nil # the client is gone, or takes nothing
      ensure
        client.close
      end
    end
    private_constant :WatchSocket
  end
end
