# frozen_string_literal: true

require_relative "watch"

module Plait
  module Lab
    # Rack: a {Watch} in each process that serves requests, from its first request on.
    # @example
    #   use Plait::Lab::RackWatch, sources: { jobs: QUEUE }
    class RackWatch
      # @param options [Hash] see {Lab.watch}
      def initialize(app, **options)
        @app = app
        @options = options
        @lock = Mutex.new
        @running = @done = 0
      end

      # @return [Array] the app's answer
      def call(env)
        start unless @watch&.alive?
        @lock.synchronize { @running += 1 }
        begin
          @app.call(env)
        ensure
          @lock.synchronize { finish }
        end
      end

      # @return [Hash] of this process: requests that the app is at (:running), and that it is through with (:done)
      def statistics = { running: @running, done: @done }

      # @return [Watch, nil] of this process
      attr_reader :watch

      private

      def finish
        @running -= 1
        @done += 1
      end

      # Once in each process: a fork has none of its parent's threads.
      def start
        @lock.synchronize do
          next if @watch&.alive?

          @running = @done = 0
          @watch = Watch.new(**@options, sources: { **@options.fetch(:sources, {}), requests: self })
        end
      end
    end
  end
end
