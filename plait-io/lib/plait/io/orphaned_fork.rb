# frozen_string_literal: true

module Plait
  module Io
    # A process that a request or a method has forked, and that comes back to the server with all sockets of its parent. It
    # must not serve. {end} is called by C, too.
    module OrphanedFork
      MESSAGE = "a process that the app has forked came back to the server, and is ended: give fork a block, or end it by exit!"

      # Ends this process; it runs nothing of its parent's.
      # @param error [Exception, nil] by which it came back; a SystemExit keeps its status and prints nothing
      def self.end(error = nil)
        Process.exit!(error.status) if error.is_a?(SystemExit)

        warn("plait: process #{Process.pid}: #{MESSAGE}")
        $stderr.flush
      ensure
        Process.exit!(1)
      end
    end
  end
end
