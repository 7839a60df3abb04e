# frozen_string_literal: true

require "etc"
require_relative "envelope"
require_relative "pool"
require_relative "request"

module Plait
  class Server
    class Detour
      # Runs some requests in processes, which compute while this one serves others. They are begun by a {Nursery} that has the
      # app as it was before the server began; where no such server runs, requests run right here.
      class OnProcesses
        OPTIONS = %i[limit].freeze

        @all = []

        class << self
          # Those whose processes are begun with the next server.
          # @return [Array<OnProcesses>]
          attr_reader :all

          # In a process that is about to serve.
          # @param listeners [Array<Io::Listener>] which are none of theirs
          # @yield in each of their processes, before it runs anything
          # @return [void]
          def begin_all(listeners, &boot) = all.each { |one| one.begin(listeners, &boot) }

          # @return [void]
          def end_all = all.each(&:end)
        end

        # @param app [#call]
        # @param condition [#call] given a request; whether it is one of them
        # @param limit [Integer] processes at most, of each worker
        def initialize(app, condition, limit: Etc.nprocessors)
          @app = app
          @condition = condition
          @request = Request.maker
          @limit = limit
          OnProcesses.all << self
        end

        # @api private
        def begin(listeners, &boot)
          @pool = Pool.new(@app, @limit, listeners, &boot) unless begun?
        end

        # @api private
        def end
          @pool.close if begun?
          @pool = nil
        end

        # @param env [Hash]
        # @return [Array(Integer, Hash, Array<String>)]
        # @raise [UnmarshalableError] when something in env can't travel
        # @raise [WorkerDied] when its process has died
        # @raise [Exception] what the app has raised there
        def call(env)
          return @app.call(env) unless begun? && @condition.call(@request.call(env))

          Envelope.open(@pool.exchange(Envelope.seal(env)))
        end

        private

        # A fork has none of its own.
        def begun? = @pool&.ours? || false
      end
    end
  end
end
