# frozen_string_literal: true

require_relative "../values/deadline"

module Plait
  class Server
    # Runs the app in its request's fiber as long as it waits there. What has held the loop for long without a single wait
    # gains nothing from a fiber and costs all the others: after two such requests in a row those like it are run on the
    # thread pool, until one of them is quick there. Alike are requests with the same method and the same first segment of
    # the path.
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

        blocking?(env) ? aside(env) : here(env, scheduler)
      end

      private

      def here(env, scheduler)
        before = scheduler.ticks
        began = Deadline.now
        response = @app.call(env)
        judge(env, scheduler.ticks == before) if Deadline.now - began > BLOCKING
        response
      end

      # What took long may have done so because the machine was busy.
      def aside(env)
        began = nil
        seconds = nil
        response = Plait.offload do
          began = Deadline.now
          @app.call(env).tap { seconds = Deadline.now - began }
        end
        @in_a_row.delete(kind(env)) if seconds < BLOCKING
        response
      end

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
