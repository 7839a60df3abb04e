# frozen_string_literal: true

require_relative "../../lock"
require_relative "../../native_visit"
require "plait/mechanisms/shield"

module Plait
  module RPC
    class Server
      class Crew
        # How who leads stays at one connection, whose peer asks, has its answer, and asks again: he waits at its socket, and runs
        # what comes there, without the accounts of anything that is over before anybody could look at it. Whoever else says
        # anything meanwhile ends that, and so does a method that is not quick: then it is as if he had just read it.
        module Visiting
          private

          # Not in a fiber, whose loop has others to run.
          # @return [NativeVisit, nil]
          def prepare_visits
            NativeVisit.new(@board.reactor, @runner.handler) if Lock.scheduler.nil? && NativeVisit.method_defined?(:pay)
          end

          def visit(stint)
            pay_visit(stint)
            @lock.exclusively { end_visit(stint) }
            run_at_once(stint) if stint.batch && !stint.slow && more?(stint, stint.batch)
          end

          def pay_visit(stint)
            stay_awake
            survive { Mechanisms::Shield.lowered { stint.peer.connection.visit(stint, @board.sweep) { stay_awake } } }
          end

          # All of these are under the lock.

          # Nothing is left to be done, and it is the same connection as the last time: it will say more.
          def visits?(stint)
            return false unless stint.visit && @stint.equal?(stint) && stint.familiar? && over?(stint) && alone?

            withdraw(stint.peer) if stint.peer.stint
            count_off(stint.batch, stint.peer)
            stint.since = stint.batch = nil
            @running < @limit && @dispatcher.trusts?(stint.peer)
          end

          # @return [Boolean] whether what was read is run and answered
          def over?(stint)
            return false unless stint.state == :idle && stint.slow.nil? && stint.batch && !stint.batch.size.positive?

            !stint.peer.again && stint.peer.held.nil? && stint.peer.connection.unsent.zero?
          end

          # What is run just now, or was left, is in the accounts from now on, and others find it; and so is what was received
          # behind it.
          def end_visit(stint)
            count_visit(stint)
            stint.state = stint.visit&.state || stint.state
            return unless (batch = stint.visit&.end)

            batch.connection.session.take(batch)
            stint.batch = @backlog.take_up(batch)
          end

          def count_visit(stint)
            return unless stint&.visit

            requests, notifications, done = stint.visit.counted
            @done += done
            stint.peer.fresh = true if stint.peer && done.positive?
            @dispatcher.count_others(requests, notifications)
          end
        end
      end
    end
  end
end
