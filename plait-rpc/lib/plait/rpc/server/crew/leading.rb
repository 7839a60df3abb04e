# frozen_string_literal: true

require_relative "stint"
require "plait/values/deadline"

module Plait
  module RPC
    class Server
      class Crew
        # How one leads. What a single connection says while nothing else is to be done, he runs himself, and then waits on: he
        # neither lays his role down nor is the connection armed before, and the requests wait in no queue. Should a method of
        # them wait, somebody takes all three from him.
        module Leading
          private

          # @param stint [Stint]
          # @return [void]
          def lead(stint)
            stay_leader(stint)
            finish(stint)
          end

          def stay_leader(stint)
            nil while go_on_leading?(stint)
          ensure
            @lock.exclusively { lay_down(stint) }
          end

          # @return [Boolean]
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
        end
      end
    end
  end
end
