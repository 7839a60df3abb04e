# frozen_string_literal: true

module Plait
  class Server
    # A signal that nobody handles is raised by Ruby in the main thread, wherever that is: on fibers, in an app. An app may raise
    # the same by itself, and must not end the server by that.
    module Signals
      class << self
        # @param error [SignalException] raised in the main thread
        # @return [Boolean] whether it was a signal, and not the app, as far as that can be told
        def sent?(error)
          return false if error.is_a?(Interrupt) && !error.message.empty? # Ruby gives one of its own no message

          unhandled?(error.signo)
        end

        private

        # What handles a signal is told only to who changes it. One that comes just then is sent again.
        def unhandled?(number)
          came = false
          before = trap(number) { came = true }
          before == "DEFAULT"
        rescue ArgumentError
          false # none that Ruby would raise
        ensure
          trap(number, before) if before
          Process.kill(number, Process.pid) if came
        end
      end
    end
  end
end
