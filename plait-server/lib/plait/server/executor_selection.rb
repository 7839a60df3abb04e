# frozen_string_literal: true

require_relative "native_core"
require "plait/io/orphaned_fork"
# The last: it would load what is loaded here when it is asked for.
require "plait"

module Plait
  class Server
    # Middleware that {Server.on} gives to `use`: it runs some requests on the loop's thread pool; without a loop, right here.
    class ExecutorSelection
      GONE = "Plait::Server.on(:processes) is gone: call Plait.map(items, on: :processes) { … } in the request that computes, " \
             "or give the server more workers (workers: N, plait serve --workers N)"

      # @param mechanism [Symbol] :threads
      # @param options [Hash] there are none
      def initialize(mechanism, options, condition)
        raise UsageError, GONE if mechanism == :processes
        raise UsageError, "requests move to :threads, not to #{mechanism.inspect}" unless mechanism == :threads
        raise UsageError, "no option #{options.keys.first}: of Plait::Server.on(:threads)" if options.any?

        @condition = condition
      end

      # As `use` calls it; a block with do … end is given to `use`, and comes here.
      # @raise [UsageError] without a block
      def new(app, &block)
        condition = @condition || block or
          raise UsageError, "Plait::Server.on takes a block that says which requests: on(:threads) { |request| request.post? }"
        OnThreads.new(app, condition)
      end

      # The app with this middleware in front.
      class OnThreads
        # @param condition [#call] given a request; returns whether the request moves
        def initialize(app, condition)
          @app = app
          @condition = condition
          @request = request_maker
        end

        def call(env)
          return @app.call(env) unless Fiber.current_scheduler && @condition.call(@request.call(env))

          Plait.offload { answer(env) }
        end

        private

        # Loads the gem rack now: loaded by the first request, it would hold up a loop for a tenth of a second.
        # @return [#call] makes Rack's request of env; without the gem rack it returns env
        def request_maker
          require "rack"
          ::Rack::Request.method(:new)
        rescue LoadError => e
          raise unless e.path == "rack"

          :itself.to_proc
        end

        def answer(env)
          generation = Native.fork_generation
          with_whole_body(@app.call(env))
        ensure
          Io::OrphanedFork.end if Native.forked_since?(generation)
        end

        # The body is read and closed on the thread that called the app, since it may hold locks or connections of that thread.
        def with_whole_body(response)
          status, headers, body = response
          return response if body.instance_of?(Array) || body.respond_to?(:to_path) || !body.respond_to?(:each)

          [status, headers, parts_of(body)]
        end

        def parts_of(body)
          parts = []
          body.each { |part| parts << part } # rubocop:disable Style/MapIntoArray -- a body has no more than each
          parts
        ensure
          body.close if body.respond_to?(:close)
        end
      end
    end
    private_constant :ExecutorSelection
  end
end
