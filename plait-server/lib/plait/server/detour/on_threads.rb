# frozen_string_literal: true

require_relative "request"
require_relative "whole"
require_relative "../stray"
# The last: it would load what is loaded here when it is asked for.
require "plait"

module Plait
  class Server
    class Detour
      # Runs some requests on the loop's thread pool; where there is no loop, right here.
      class OnThreads
        OPTIONS = [].freeze

        # @param app [#call]
        # @param condition [#call] given a request; whether it is one of them
        def initialize(app, condition)
          @app = app
          @condition = condition
          @request = Request.maker
        end

        # @param env [Hash]
        # @return [Array(Integer, Hash, Object)]
        def call(env)
          return @app.call(env) unless Fiber.current_scheduler && @condition.call(@request.call(env))

          Plait.offload { whole(env) }
        end

        private

        def whole(env)
          process = Process.pid
          Whole.of(@app.call(env))
        ensure
          Stray.end unless process == Process.pid
        end
      end
    end
  end
end
