# frozen_string_literal: true

module Plait
  class Server
    # A process that came back from a `fork` in a request, with all sockets of its parent: it must not serve.
    module Stray
      MESSAGE = "a process that the app has forked came back to the server, and is ended: give fork a block, or end it by exit!"

      # Ends this process; nothing of the parent's is run.
      # @param error [Exception, nil] by which it came back: one that meant to end does so, and nothing is to be said
      # @return [void]
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
