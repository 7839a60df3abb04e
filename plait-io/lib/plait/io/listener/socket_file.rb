# frozen_string_literal: true

module Plait
  module Io
    class Listener
      # The file of a UNIX socket that this process has made, and that only this process removes: its forks share the
      # socket, and somebody else may have put another file there since.
      class SocketFile
        # @param path [String]
        def initialize(path)
          @path = path
          @pid = Process.pid
          @identity = identity
        end

        # @return [void]
        def remove
          File.unlink(@path) if @pid == Process.pid && ours?
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
    end
  end
end
