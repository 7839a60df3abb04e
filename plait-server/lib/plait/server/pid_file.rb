# frozen_string_literal: true

module Plait
  class Server
    # A file with the number of a process, which keeps it locked while it runs: so that no program takes a number that was left
    # behind for that of a server.
    class PidFile
      # @return [Integer, nil] the process that has it; nil when none has
      # @raise [UsageError] when it can't be read
      def self.holder(path)
        File.open(path) do |file|
          next if file.flock(File::LOCK_SH | File::LOCK_NB)

          Integer(file.read.strip, exception: false)
        end
      rescue Errno::ENOENT
        nil
      rescue SystemCallError => e
        raise UsageError, "the PID file #{path} can't be read: #{SystemReason.of(e)}"
      end

      # @raise [UsageError] when another process has it, or it can't be written
      def initialize(path)
        @path = File.expand_path(path) # an app may go elsewhere
        nil until take(path)
        write
      rescue Errno::ENOENT
        raise UsageError, "the PID file #{path} can't be written: there is no folder #{File.dirname(@path)}"
      rescue SystemCallError => e
        remove if @file # an empty file names no process
        raise UsageError, "the PID file #{path} can't be written: #{SystemReason.of(e)}"
      end

      # To be called in forks: the file belongs to the process that opened it.
      def close = @file.close

      def remove
        File.unlink(@path)
      rescue SystemCallError
        nil # another process has
      ensure
        close
      end

      private

      # A server that ends removes its file, maybe after it is opened here.
      # @return [Boolean] whether the file with the lock is the one at the path
      def take(path)
        @file = File.open(path, File::RDWR | File::CREAT, 0o644)
        @file.sync = true # what a full disk refuses would be tried again, and fail again, when it is closed
        refuse(path) unless @file.flock(File::LOCK_EX | File::LOCK_NB)
        File.identical?(@file, @path) || (close && false)
      end

      def refuse(path)
        pid = @file.read.strip
        @file.close
        raise UsageError, "a server runs already, as process #{pid}: that is what #{path} says"
      end

      def write
        @file.truncate(0)
        @file.write("#{Process.pid}\n")
      end
    end
  end
end
