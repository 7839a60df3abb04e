# frozen_string_literal: true

require_relative "../../lock"
require_relative "../../native_line"
require "plait/mechanisms/thread_guard"
require "plait/values/deadline"

module Plait
  module RPC
    class Server
      class WorkerPool
        # The time for which one worker leads, and the requests that he runs meanwhile, see {Leading}. All of it is changed
        # under the server's lock, or by himself.
        class Stint
          # Seconds after which a method that was quick so far is taken for one that waits.
          PATIENCE = 0.0025

          # @return [Peer, nil] that he has taken hold of
          attr_accessor :peer
          # @return [Symbol, nil] what has come of reading from it, see {Connection#read_available}; nil: that is not known yet
          attr_accessor :state
          # @return [NativeBatch, nil] that he has taken upon himself; until it is counted as done
          attr_accessor :batch
          # @return [Incoming, nil] the one of it that others may have to lead for
          attr_accessor :slow
          attr_writer :since

          # @return [NativeVisit, nil] nil: he pays none
          attr_reader :visit

          # @param visit [NativeVisit, nil]
          def initialize(visit = nil)
            @worker = Fiber.current
            @visit = visit
          end

          # @return [Float, nil] since when he runs methods; monotonic seconds
          def since = @since || @visit&.since

          # @return [Boolean] whether it is the current worker's, and he runs methods
          def runs_here? = !since.nil? && @worker.equal?(Fiber.current)

          # @return [Boolean] whether he has run methods for so long that somebody else should lead
          def stuck?
            began = since
            !began.nil? && Deadline.now > began + PATIENCE
          end

          # @return [Boolean] whether it is the same peer as the last time
          def familiar?
            last = @last
            @last = @peer
            @last.equal?(last)
          end

          # He leads no more, and has nothing to do with the connection.
          def end = @since = @peer = nil
        end

        # How one leads. What a single connection says while nothing else is to be done, he runs himself, and then waits on: he
        # neither lays his role down nor is the connection armed before, and the requests wait in no queue. Should a method of
        # them wait, somebody takes all three from him.
        module Leading
          private

          def lead(stint)
            stay_leader(stint)
            finish(stint)
          end

          def stay_leader(stint)
            nil while go_on_leading?(stint)
          ensure
            @lock.exclusively { lay_down(stint) }
          end

          def go_on_leading?(stint)
            peers = @board.wait
            return see_to(peers) unless peers.size == 1 && @lock.exclusively { offer(stint, peers.first) }

            stint.state = @board.serve(stint.peer)
            take_back(stint) if stint.peer.held
            run_at_once(stint) if stint.batch
            visit(stint) if @lock.exclusively { visits?(stint) }
            @lock.exclusively { done?(stint) }
          end

          # @return [false]
          def see_to(peers)
            peers.each { |peer| @board.attend(peer) }
            false
          end

          # It reads its answers again.
          def take_back(stint)
            @lock.exclusively { stint.batch ||= @backlog.go_on(stint.peer) }
          end

          # Quick methods, in a row, as long as their answers are read; the first that is not quick is left.
          def run_at_once(stint)
            batch = stint.batch
            stay_awake
            loop do
              stint.since = Deadline.now
              stint.slow = begin_with(batch)
              return if stint.slow

              batch.connection.flush
              return unless more?(stint, batch)
            end
          end

          def more?(stint, batch) = batch.size.positive? && @stint.equal?(stint) && !batch.connection.congested?

          # What is left when he leads no more.
          def finish(stint)
            batch = stint.batch or return
            stint.slow ? perform_for(batch, stint.slow) : @board.flush
          end

          # All of these are under the lock.

          # To run what is read next.
          def offer(stint, peer)
            return unless @running < @limit && @backlog.idle? && @board.take_hold(peer)

            @running += 1
            @backlog.promise(peer)
            stint.peer = peer
            stint.state = nil
            peer.stint = stint
          end

          def alone? = !@over && !@board.dirty? && @board.resumed.empty? && @backlog.idle?

          # @return [Boolean] whether he goes on leading
          def done?(stint)
            return false unless @stint.equal?(stint) # it was taken from him

            stint.since = nil
            return false if stint.slow

            let_go(stint)
            alone?
          end

          # The requests are run, the connection is free.
          def let_go(stint)
            peer = stint.peer
            withdraw(peer) if peer.stint
            count_off(stint.batch, peer) if stint.batch
            @running -= 1
            @board.release(peer, stint.state)
            stint.peer = stint.batch = nil
          end

          # Nothing was found to be run.
          def withdraw(peer)
            peer.stint = nil
            @backlog.keep_promise(peer)
          end

          # What it has not taken yet is sent when it takes more: it is armed for that.
          def count_off(batch, peer)
            @backlog.hold_back(batch) if batch.size.positive?
            settle(batch, peer)
            @backlog.told(batch, peer)
            @board.relieve(peer)
          end

          # Somebody else may lead.
          def lay_down(stint)
            return unless @stint.equal?(stint)

            @stint = nil
            part(stint) if stint.peer
          end

          # What he runs goes on, as any other work; what has come with it waits for others, and so does the connection.
          def part(stint)
            end_visit(stint)
            peer = stint.peer
            stint.end
            withdraw(peer) if peer.stint
            stint.batch ? @board.soil(peer.connection) : @running -= 1
            @board.release(peer, stint.state)
          end

          # ---- visits

          # The leader stays at one connection, whose peer asks, has its answer, and asks again: it waits at the socket, and runs
          # what comes there, without an account of each request. Another connection's message ends the visit, and so does a
          # method that is not quick.

          # Not in a fiber, whose loop has others to run.
          # @return [NativeVisit, nil]
          def prepare_visits
            NativeVisit.new(@board.reactor, @handler) if Lock.scheduler.nil? && NativeVisit.method_defined?(:pay)
          end

          def visit(stint)
            pay_visit(stint)
            @lock.exclusively { end_visit(stint) }
            run_at_once(stint) if stint.batch && !stint.slow && more?(stint, stint.batch)
          end

          def pay_visit(stint)
            stay_awake
            survive { ThreadGuard.lowered { stint.peer.connection.visit(stint, @board.sweep) { stay_awake } } }
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
        private_constant :Stint, :Leading
      end
    end
  end
end
