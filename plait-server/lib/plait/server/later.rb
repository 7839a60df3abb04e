# frozen_string_literal: true

module Plait
  class Server
    # An app that is loaded in the process that serves, and not before.
    class Later
      # @yieldreturn [#call] the app
      def initialize(&load)
        @load = load
      end

      # @return [void]
      def load = @app ||= @load.call

      # @param env [Hash]
      # @return [Array(Integer, Hash, Object)]
      def call(env) = @app.call(env)
    end
  end
end
