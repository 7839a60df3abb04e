# frozen_string_literal: true

module Plait
  module RPC
    # The leader of a server's workers at all connections, in C, on Linux only: plait-io/ext/plait_io/rpc/rb_rpc_round.h.
    #
    # - `new(pool, dispatcher, handler, mutex, reactor, duties, queues, most)`: `duties` are Arrays and Hashes of what any
    #   worker can do, `queues` Arrays of requests that wait. While one of them is not empty, no request is run here. `most`:
    #   requests that are taken at once.
    # - `go(limit) { … }`: waits for connections that send, runs their requests, and answers them, until there is something for
    #   Ruby to do, or the limit is past (monotonic seconds, or nil). Calls the block before a run, once a millisecond at most.
    # - `since`: when the current run began, monotonic seconds, or nil.
    # - `end`: what is left: peers to attend to; the peer that is attended to, or nil; the result of reading from it, as
    #   `NativeLine#read_available`; its batch that runs, or was left, or nil. From now on these are the caller's.
    # - `counted`: requests, notifications, and runs of both without that batch, since the last call.
    Native.available? && NativeRPC.respond_to?(:define_round) ? NativeRPC.define_round(self) : NativeRound = Class.new
    private_constant :NativeRound

    class Server
      class WorkerPool
        # One worker's time as the leader, see {Leading}. Changed under the server's lock, or by that worker.
        class Leader
          # Seconds after which a method that was quick so far counts as one that waits.
          PATIENCE = 0.0025

          # @return [NativeRound, nil] nil: this leader runs no methods
          attr_reader :round
          # @return [NativeBatch, nil] that it still runs after the lead
          attr_accessor :batch

          def initialize(round)
            @worker = Fiber.current
            @round = round
          end

          # @return [Float, nil] since when it runs methods; monotonic seconds
          def since = @round&.since

          # @return [Boolean] whether it is the current worker's, and runs methods
          def runs_here? = !since.nil? && @worker.equal?(Fiber.current)

          # @return [Boolean] whether it runs methods for so long that another worker should lead
          def stuck?
            began = since
            !began.nil? && Deadline.now > began + PATIENCE
          end
        end

        # What a leader does. It runs quick requests itself, connection by connection, and waits again: it keeps the lead, and
        # queues nothing. If a method of them waits, another worker takes the lead, the other connections and the rest of the
        # batch. All else goes by the backlog.
        module Leading
          # Requests that are taken from a connection at once; raising it lets more wait behind one that turns out to be slow.
          TOGETHER = 64

          private

          def lead(leader)
            begin
              leader.round ? go_round(leader.round) : @board.wait.each { |peer| @board.attend(peer) }
            ensure
              @lock.exclusively { lay_down(leader) }
            end
            perform_some(leader.batch) if leader.batch
          end

          def go_round(round)
            stay_awake
            survive { ThreadGuard.lowered { round.go(@board.sweep&.at) { stay_awake } } }
            @board.sweep_out
          end

          # ---- under the lock

          def prepare_round
            return unless NativeRound.method_defined?(:go)

            NativeRound.new(self, @dispatcher, @handler, @lock.mutex, @board.reactor, @board.duties, @backlog.queues,
                            [@backlog.most, TOGETHER].min)
          end

          # Another worker may lead. A batch that runs goes on as any other work: others may take the rest of it.
          def lay_down(leader)
            return unless @leader.equal?(leader)

            @leader = nil
            count_round(leader)
            running = leader.since
            others, peer, state, batch = leader.round&.end
            @board.resumed.concat(others) if others
            keep(leader, peer, batch, running) if batch
            @board.release(peer, state) if peer
          end

          # What the round has started is counted from now on.
          def keep(leader, peer, batch, running)
            peer.take(batch)
            return give_back(peer, batch) unless running

            @running += 1
            leader.batch = batch
            @backlog.begin_with(batch)
            @board.gather(batch.connection)
          end

          def give_back(peer, batch)
            settle(batch, peer)
            @backlog.put_back(batch)
            @board.gather(batch.connection) if batch.connection.unsent.positive?
          end

          def count_round(leader)
            return unless leader&.round

            requests, notifications, done = leader.round.counted
            @done += done
            @dispatcher.count_others(requests, notifications)
          end
        end
      end
    end
  end
end
