# frozen_string_literal: true

require_relative "../values/deadline"

module Plait
  class Server
    # Runs the app in its request's fiber as long as it waits there. What has held the loop for long without a single wait
    # gains nothing from a fiber and costs all the others: after two such requests in a row those like it are run on the
    # thread pool. Alike are requests with the same method and the same first segment of the path.
    class Hybrid
      # Seconds without a wait from which a request counts as blocking.
      BLOCKING = 0.01
      ENOUGH = 2
      # Kinds of requests that are told apart; clients can make up any number.
      KINDS = 1024

      # @param app [#call]
      def initialize(app)
        @app = app
        @in_a_row = {}
      end

      # @return [Array(Integer, Hash, Object)]
      def call(env)
        return @app.call(env) unless (scheduler = Fiber.current_scheduler) && scheduler.respond_to?(:ticks)
        return Plait.offload { @app.call(env) } if blocking?(env)

        before = scheduler.ticks
        began = Deadline.now
        response = @app.call(env)
        seconds = Deadline.now - began
        judge(env, scheduler.ticks == before) if seconds > BLOCKING
        response
      end

      private

      # Empty for most apps for ever.
      def blocking?(env) = !@in_a_row.empty? && @in_a_row.fetch(kind(env), 0) >= ENOUGH

      def judge(env, never_waited)
        kind = kind(env)
        return @in_a_row.delete(kind) unless never_waited

        @in_a_row.shift if @in_a_row.size >= KINDS
        @in_a_row[kind] = @in_a_row.fetch(kind, 0) + 1
      end

      def kind(env)
        path = env["PATH_INFO"]
        "#{env["REQUEST_METHOD"]} #{path[0, path.index("/", 1) || path.size]}"
      end
    end
  end
end
