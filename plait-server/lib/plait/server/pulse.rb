# frozen_string_literal: true

module Plait
  class Server
    # Writes a server's status into its {StateFile}, again and again.
    class Pulse
      # Seconds between two times.
      PAUSE = 1

      # @param file [StateFile, nil] nil: nobody wants to know
      # @yieldreturn [Hash] how the server is
      def initialize(file, &state)
        @file = file
        @state = state
      end

      # @return [void]
      # @raise [SystemCallError]
      def tell = @file&.write(@state.call)

      # @return [void]
      def begin
        @thread = Thread.new do
          loop do
            tell_if_possible
            sleep(PAUSE)
          end
        end
        @thread.name = "plait status"
      end

      # @return [void]
      def end = @thread&.kill&.join

      private

      # A full disk is no reason to stop telling, and may be over soon.
      def tell_if_possible
        tell
      rescue SystemCallError
        nil
      end
    end
  end
end
