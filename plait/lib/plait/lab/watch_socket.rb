# frozen_string_literal: true

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
      # Seconds until the next try where the system gives no descriptor.
      PAUSE = 0.1

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
        remove_left_behind(File.basename(path.to_s))
        @server = listen
        @thread = Thread.new { Thread.handle_interrupt(Object => :immediate) { serve } }
        @thread.name = "plait watch socket"
        @thread.report_on_exception = false
      end

      def close
        @thread.kill.join
      ensure
        @server.close
        remove if Process.pid == @owner
      end

      private

      def remove(file = path)
        File.unlink(file)
      rescue Errno::ENOENT
        nil
      end

      # Servers end their workers without a last word: the next process removes the sockets that these leave.
      def remove_left_behind(pattern)
        name = /\A#{pattern.split("%p", -1).map { |part| Regexp.escape(part) }.join("(\\d{1,9})")}\z/
        numbers = Dir.children(File.dirname(path)).to_h { |file| [File.join(File.dirname(path), file), file.scrub[name, 1]] }
        numbers.compact.each { |file, pid| remove(file) if File.socket?(file) && over?(Integer(pid, 10)) && unanswered?(file) }
      rescue SystemCallError
        nil # a folder, or a file, of another user
      end

      def over?(pid)
        Process.kill(0, pid)
        false
      rescue SystemCallError => e
        e.is_a?(Errno::ESRCH)
      end

      # A process of another container may have that number.
      def unanswered?(file)
        UNIXSocket.open(file, &:close)
        false
      rescue Errno::ECONNREFUSED
        true
      end

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
        return remove if unanswered?(path)

        raise UsageError, "socket: another process listens at #{path}; with %p in the path each process has its own"
      end

      def serve
        loop do
          client = accept
          client ? answer(client) : sleep(PAUSE)
        end
      end

      def accept
        @server.accept.first
      rescue SystemCallError
        nil # the client is gone, or the process has no descriptor for it
      end

      def answer(client)
        bytes = "#{JSON.generate(@snapshot.call)}\n".b
        until bytes.empty?
          written = client.write_nonblock(bytes, exception: false)
          next bytes = bytes.byteslice(written..) if written.is_a?(Integer)
          break unless client.wait_writable(PATIENCE)
        end
      rescue StandardError
        nil # the client is gone, or takes nothing; or the snapshot has what JSON has not, such as NaN
      ensure
        client.close
      end
    end
    private_constant :WatchSocket
  end
end
