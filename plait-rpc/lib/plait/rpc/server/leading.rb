# frozen_string_literal: true

require_relative "../lock"
require "plait/io/native"
require "plait/mechanisms/thread_guard"
require "plait/values/deadline"

module Plait
  module RPC
    # The leader of a server's workers at one connection, in C, on Linux only: plait-io/ext/plait_io/rpc/rb_rpc_visit.h.
    #
    # - `new(reactor, handler)`
    # - `pay(line, limit) { … }`: waits for the connection's next requests, and runs and answers them, until another connection
    #   sends something, this one was silent for 10 ms, or the limit is past (monotonic seconds, or nil). Calls the block before
    #   a run, once a millisecond at most. Returns whether the next request of its batch is for Ruby to run.
    # - `state`: the result of reading, as `NativeLine#read_available`, until `end`; then nil.
    # - `since`: when the current run began, monotonic seconds, or nil.
    # - `end`: the batch that runs, or was left, or nil; the caller counts it from now on.
    # - `counted`: requests, notifications, and runs of both without that batch, since the last call.
    Native.available? && NativeRPC.respond_to?(:define_visit) ? NativeRPC.define_visit(self) : NativeVisit = Class.new
    private_constant :NativeVisit

    class Server
      class WorkerPool
        # One worker's time as the leader, see {Leading}. Changed under the server's lock, or by that worker.
        class Leader
          # Seconds after which a method that was quick so far counts as one that waits.
          PATIENCE = 0.0025

          # @return [Peer, nil] from which it reads
          attr_accessor :peer
          # @return [Symbol, nil] as {Connection#read_available}; nil: it is still reading
          attr_accessor :state
          # @return [NativeBatch, nil] that it runs, until that is counted as done
          attr_accessor :batch
          # @return [Incoming, nil] the slow request of the batch
          attr_accessor :slow
          attr_writer :since
          # @return [NativeVisit, nil] nil: this leader can't visit
          attr_reader :visit

          def initialize(visit = nil)
            @worker = Fiber.current
            @visit = visit
          end

          # @return [Float, nil] since when it runs methods; monotonic seconds
          def since = @since || @visit&.since

          # @return [Boolean] whether it is the current worker's, and runs methods
          def runs_here? = !since.nil? && @worker.equal?(Fiber.current)

          # @return [Boolean] whether it runs methods for so long that another worker should lead
          def stuck?
            began = since
            !began.nil? && Deadline.now > began + PATIENCE
          end

          # @return [Boolean] whether the peer is the same as at the last call
          def familiar?
            last = @last
            @last = @peer
            @last.equal?(last)
          end

          def end = @since = @peer = nil
        end

        # What a leader does. Requests of a single connection, while there is no other work, it runs itself and then waits again:
        # it keeps the lead, does not arm the connection before, and queues nothing. If a method of them waits, another worker
        # takes the lead, the connection and the rest of the batch.
        #
        # A visit goes further: a peer asks, has its answer, and asks again, so the leader waits at that socket and runs its
        # requests without an account of each. Another connection's message ends the visit, and so does a slow method.
        module Leading
          private

          def lead(leader)
            begin
              nil while go_on_leading?(leader)
            ensure
              @lock.exclusively { lay_down(leader) }
            end
            finish(leader)
          end

          def go_on_leading?(leader)
            peers = @board.wait
            return see_to(peers) unless peers.size == 1 && @lock.exclusively { offer(leader, peers.first) }

            leader.state = @board.serve(leader.peer)
            take_back(leader) if leader.peer.held
            run_at_once(leader) if leader.batch
            visit(leader) if @lock.exclusively { visits?(leader) }
            @lock.exclusively { done?(leader) }
          end

          def see_to(peers)
            peers.each { |peer| @board.attend(peer) }
            false
          end

          # The peer reads its answers again.
          def take_back(leader)
            @lock.exclusively { leader.batch ||= @backlog.go_on(leader.peer) }
          end

          # Runs quick methods while their answers are read; the first slow one is left.
          def run_at_once(leader)
            batch = leader.batch
            stay_awake
            loop do
              leader.since = Deadline.now
              leader.slow = begin_with(batch)
              return if leader.slow

              batch.connection.flush
              return unless more?(leader, batch)
            end
          end

          def more?(leader, batch) = batch.size.positive? && @leader.equal?(leader) && !batch.connection.congested?

          # Runs the rest of its batch after the lead.
          def finish(leader)
            batch = leader.batch or return
            leader.slow ? perform_for(batch, leader.slow) : @board.flush
          end

          # Not in a fiber, whose loop has others to run.
          # @return [NativeVisit, nil]
          def prepare_visits
            NativeVisit.new(@board.reactor, @handler) if Lock.scheduler.nil? && NativeVisit.method_defined?(:pay)
          end

          def visit(leader)
            stay_awake
            slow = nil
            survive { ThreadGuard.lowered { slow = leader.peer.connection.visit(leader.visit, @board.sweep) { stay_awake } } }
            @lock.exclusively { end_visit(leader) }
            leader.slow = leader.batch&.shift if slow
            run_at_once(leader) if leader.batch && !leader.slow && more?(leader, leader.batch)
          end

          # ---- under the lock

          # Takes the peer, to run its next requests.
          def offer(leader, peer)
            return unless @running < @limit && @backlog.idle? && @board.take_hold(peer)

            @running += 1
            @backlog.promise(peer)
            leader.peer = peer
            leader.state = nil
            peer.leader = leader
          end

          def alone? = !@over && !@board.gathered? && @board.resumed.empty? && @backlog.idle?

          # @return [Boolean] whether it goes on leading
          def done?(leader)
            return false unless @leader.equal?(leader) # another worker has taken the lead

            leader.since = nil
            return false if leader.slow

            let_go(leader)
            alone?
          end

          # The requests are run, the connection is free.
          def let_go(leader)
            peer = leader.peer
            withdraw(peer) if peer.leader
            count_off(leader.batch, peer) if leader.batch
            @running -= 1
            @board.release(peer, leader.state)
            leader.peer = leader.batch = nil
          end

          # The peer has sent no request.
          def withdraw(peer)
            peer.leader = nil
            @backlog.keep_promise(peer)
          end

          # Answers that the peer has not taken are sent when it takes more: the connection is armed for that.
          def count_off(batch, peer)
            @backlog.hold_back(batch) if batch.size.positive?
            settle(batch, peer)
            @backlog.finish(batch, peer)
            @board.relieve(peer)
          end

          # Another worker may lead. The batch goes on as any other work, and others may take the rest of it and the connection.
          def lay_down(leader)
            return unless @leader.equal?(leader)

            @leader = nil
            peer = leader.peer or return

            end_visit(leader)
            leader.end
            withdraw(peer) if peer.leader
            leader.batch ? @board.gather(peer.connection) : @running -= 1
            @board.release(peer, leader.state)
          end

          # @return [Boolean] whether there is no other work, and the connection is the last one again: it will send more
          def visits?(leader)
            return false unless leader.visit && @leader.equal?(leader) && leader.familiar? && over?(leader) && alone?

            withdraw(leader.peer) if leader.peer.leader
            count_off(leader.batch, leader.peer)
            leader.since = leader.batch = nil
            @running < @limit && @dispatcher.trusts?(leader.peer)
          end

          # @return [Boolean] whether all received requests are run and answered
          def over?(leader)
            return false unless leader.state == :idle && leader.slow.nil? && leader.batch && !leader.batch.size.positive?

            !leader.peer.again && leader.peer.held.nil? && leader.peer.connection.unsent.zero?
          end

          # The batch that runs, or was left, is counted from now on, and other workers find it.
          def end_visit(leader)
            count_visit(leader)
            leader.state = leader.visit&.state || leader.state
            return unless (batch = leader.visit&.end)

            batch.connection.session.take(batch)
            leader.batch = @backlog.take_up(batch)
          end

          def count_visit(leader)
            return unless leader&.visit

            requests, notifications, done = leader.visit.counted
            @done += done
            leader.peer.fresh = true if leader.peer && done.positive?
            @dispatcher.count_others(requests, notifications)
          end
        end
        private_constant :Leader, :Leading
      end
    end
  end
end
