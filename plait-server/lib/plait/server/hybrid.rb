# frozen_string_literal: true

require_relative "watch"
require "plait/values/deadline"

module Plait
  class Server
    # Which requests run on the thread pool. A request runs in its fiber as long as it waits there. What has held the loop
    # for long without a single wait gains nothing from a fiber and costs all the others: after two such requests in a row
    # requests like them run on the pool, until one is quick there. Alike are requests with the same method and the same
    # first segment of the path.
    #
    # The core (plait-io/ext/plait_io/server/rb_server_hybrid.c) asks only after a slow request: a quick one costs nothing.
    class Hybrid
      # Seconds below which a request on the pool is quick.
      QUICK = 0.01
      ENOUGH = 2
      # Kinds of requests counted apart; clients can make up any number.
      KINDS = 1024

      def initialize
        @in_a_row = {}
      end

      # @return [Boolean] whether requests like it hold the loop
      def blocking?(env) = @in_a_row.fetch(kind(env), 0) >= ENOUGH

      # After a request that took long in its fiber. It may have done so because the machine was busy: the core can tell, but
      # looks so closely only while requests are under suspicion.
      # @param waited [Boolean] whether it has waited at all, or the machine has kept it waiting
      # @return [Boolean] whether there are requests that {#blocking?} has to be asked about
      def judge(env, waited)
        kind = kind(env)
        before = @in_a_row.delete(kind) || 0
        @in_a_row[kind] = before + 1 unless waited
        @in_a_row.shift if @in_a_row.size > KINDS
        @in_a_row.any?
      end

      # Runs a request on the pool: all of it, since what an app does at the end of its body belongs to the thread on which
      # it was called (locks, connections to databases).
      # @param job [#call]
      # @return [Boolean] as {#judge}
      def offload(env, job)
        @in_a_row.delete(kind(env)) if Plait.offload { seconds(job) } < QUICK
        @in_a_row.any?
      end

      private

      def seconds(job)
        began = Deadline.now
        job.call
        Deadline.now - began
      end

      def kind(env) = Watch::Route.beginning(env)
    end
    private_constant :Hybrid
  end
end
