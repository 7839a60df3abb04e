# frozen_string_literal: true

require_relative "backlog"
require_relative "leading"
require_relative "survival"
require "plait/io/orphaned_fork"

module Plait
  module RPC
    class Server
      # Workers without work, which sleep. All but {#rest} is done under the server's lock.
      class IdleWorkers
        # Seconds between two looks whether the work goes on.
        TICK = 0.005
        # Seconds without work after which a worker leaves.
        LONG = 10

        def initialize(lock)
          @lock = lock
          @sleepers = []
        end

        def empty? = @sleepers.empty?

        # @return [Boolean] whether a worker was called that has not come yet
        def called? = @called || false

        # The called worker is here.
        def arrived = @called = false

        # @return [Lock::Sleeper] of the current worker, which can be called from now on
        def add = Lock::Sleeper.new.lie_down.tap { |sleeper| @sleepers << sleeper }

        # Not under the lock. While quick methods run, one idle worker looks now and then.
        # @return [Symbol, nil] :long after a long time without a call
        def rest(sleeper)
          watches = @lively && !@watched
          @watched = true if watches
          @lively = false if watches
          @lock.sleep(sleeper, watches ? TICK : LONG)
          :long unless watches || sleeper.called?
        ensure
          @watched = false if watches
          @lock.exclusively { sleeper.called? ? arrived : @sleepers.delete(sleeper) }
        end

        # A quick method runs, which might wait nevertheless: an idle worker should look.
        # @return [Boolean] whether none does
        def unwatched?
          @lively = true
          !@watched
        end

        # Calls the worker that has come last.
        # @return [Boolean] whether there was one
        def call
          return false if empty?

          @called = true
          @sleepers.pop.call
          true
        end

        # A new worker will come.
        def expect = @called = true

        def call_all = @sleepers.each(&:call)
      end

      # The workers of a server: threads, or fibers. One of them, the leader, waits at the switchboard for all. It runs quick
      # requests itself, see {Leading}; else it gives up the lead, and each worker runs one request.
      #
      # Whether a method waits is not known in advance. Before a method runs that was slow the last times, another worker is
      # called to lead. Before a quick one none is: that would cost more than the method. Should it wait nevertheless, an idle
      # worker that looks every few milliseconds takes the lead. While answers can wait for others, they are sent together.
      class WorkerPool
        include Leading

        # Seconds that an answer waits for others while quick methods run; raising it sends more answers at once, later.
        GATHER = 0.001
        # Bytes of a connection that wait for no more: the pool must know whether the peer takes them before it makes others.
        PORTION = 64 * 1024

        # @return [Integer] workers, and requests and notifications that were run
        attr_reader :size, :done
        attr_writer :dispatcher
        # @return [Handler, Hybrid] runs a single request
        attr_writer :runner

        # @param limit [Integer] methods that run at once
        # @yield starts a worker: a thread or a fiber that calls {#work}
        def initialize(lock, board, backlog, handler, limit, &start)
          @lock = lock
          @board = board
          @backlog = backlog
          @handler = handler
          @runner = handler
          @limit = limit
          @start = start
          @idle = IdleWorkers.new(lock)
          @members = {}.compare_by_identity # fibers that work
          @running = @size = @done = @aside = 0
          @generation = Native.fork_generation
        end

        # Brings {#done}, and the counts of the dispatcher, up to date.
        def update = @lock.exclusively { count_round(@leader) }

        # @return [Integer] methods that run
        def running = @leader&.since ? @running + 1 : @running

        def begin
          Survival.expect_exit
          CORE.times { engage }
        end

        # The worker loop: it ends after a long time without work, or with the server.
        def work = Survival.shielded(@handler) { work_on }

        # Workers that never leave: one that works, and one that looks.
        CORE = 2

        # There is work that the leader has not found itself.
        def call = help { !@idle.empty? || !@idle.called? }

        # A worker shall read from a peer, and send what it takes.
        def attend(peer)
          @lock.exclusively { @board.resumed << peer }
          call
        end

        # Each worker leaves after its current work.
        def dismiss
          @lock.exclusively do
            @over = true
            @idle.call_all
          end
        end

        # Runs the block, which waits for a peer's answer: meanwhile another worker may take this one's place.
        # @return [Object] the block's value
        def aside(&wait)
          return yield unless @lock.exclusively { @members.key?(Fiber.current) }

          ThreadGuard.held do
            step_aside(1)
            begin
              ThreadGuard.lowered(&wait)
            ensure
              step_aside(-1)
            end
          end
        end

        private

        def work_on
          @lock.exclusively { @members[Fiber.current] = true }
          @idle.arrived
          current = nil
          while (duty = next_duty(current))
            current = work?(duty) ? duty : nil
            fulfil(duty)
          end
          left = true
        ensure
          @lock.exclusively { @members.delete(Fiber.current) }
          replace(current) unless left
        end

        def work?(duty) = duty.is_a?(Incoming) || duty.is_a?(NativeBatch) || duty.is_a?(Leader)

        # @param finished [Incoming, NativeBatch, Leader, nil] its last work
        # @return [Incoming, NativeBatch, Leader, Peer, Symbol, nil] nil: it leaves
        def next_duty(finished)
          rested = nil
          loop do
            sleeper = nil
            duty = @lock.exclusively do
              conclude(finished) if finished
              choose(rested) || ((sleeper = @idle.add) && nil)
            end
            return duty == :leave ? nil : duty if duty

            finished = nil
            rested = @idle.rest(sleeper)
          end
        end

        # All of these are under the lock.

        def choose(rested)
          return leave if @over

          lay_down(@leader) if @leader&.stuck?
          work_at_hand || (lead_on unless @leader) || (leave if rested == :long && @size > CORE)
        end

        def lead_on = @leader = Leader.new(prepare_round)

        def work_at_hand
          return @board.resumed.shift if @board.resumed.any?
          return begin_one if running < @limit && (@next = @backlog.shift)

          :flush if @board.gathered?
        end

        # If a request of a batch takes long, another worker sends the answers before it.
        def begin_one
          @running += 1
          @board.gather(@next.connection) if @next.is_a?(NativeBatch)
          @next
        end

        def conclude(work)
          return (conclude(work.batch) if work.batch) if work.is_a?(Leader)

          @running -= 1
          peer = work.connection.session
          work.is_a?(NativeBatch) ? settle(work, peer) : count(peer, 1)
          @backlog.finish(work, peer)
          @board.gather(work.connection) if work.connection.unsent.positive?
          @board.relieve(peer)
        end

        def settle(batch, peer)
          peer.owed -= batch.answered
          count(peer, batch.finished)
        end

        def count(peer, runs)
          @done += runs
          peer.in_flight -= runs
        end

        def retire(unfinished)
          conclude(unfinished) if unfinished
          @size -= 1
        end

        def leave
          retire(nil)
          :leave
        end

        # These are not.

        def fulfil(duty)
          case duty
          when NativeBatch then perform_some(duty)
          when Incoming then perform(duty)
          when Leader then lead(duty)
          when :flush then @board.flush
          else @board.attend(duty)
          end
        end

        # Quick requests, and the first slow one.
        def perform_some(batch)
          stay_awake
          other = begin_with(batch)
          perform_for(batch, other) if other
          @backlog.empty? ? @board.flush : send_off(batch.connection, Deadline.now)
        end

        # A request is taken where no exception of another thread can lose it.
        # @return [Incoming, nil] the next request, if it is for Ruby to run
        def begin_with(batch)
          slow = nil
          survive { ThreadGuard.lowered { slow = batch.run(@handler) } }
          batch.shift if slow
        end

        def perform_for(batch, incoming)
          perform(incoming)
        ensure
          batch.finish
        end

        def perform(incoming)
          callable = @handler.find(incoming.method_name)
          callable&.quick? ? stay_awake : make_way
          run(incoming, callable)
          send_off(incoming.connection, Deadline.now)
        end

        def send_off(connection, now)
          @board.send_to(connection) if connection.unsent > PORTION
          @board.flush if now > @board.flushed + GATHER
        end

        def run(incoming, callable)
          Thread.current[:plait_rpc_incoming] = incoming
          survive { @runner.run(incoming, callable, flush: false) }
        ensure
          Thread.current[:plait_rpc_incoming] = nil # or there is something to forget after each request
          @handler.forget
        end

        # The caller has its answer. An exception that ends the server ends the worker too. A fork that comes back from a method
        # has the requests of its parent: it must run none of them.
        def survive(&block)
          Survival.of(&block)
        rescue Exception => e # rubocop:disable Lint/RescueException
          raise if @over
        ensure
          Io::OrphanedFork.end(e) unless @generation == Native.fork_generation
        end

        # Before a slow method: gathered answers are sent, and another worker leads.
        def make_way
          @board.flush
          help { (@leader.nil? || work_left?) && !@idle.called? }
        end

        # @return [Boolean] whether there is work that the leader has not found itself
        def work_left? = @backlog.size.positive? && running < @limit

        # Before a quick method: if it waits nevertheless, an idle worker takes the lead.
        def stay_awake = (help { !@idle.called? } if @idle.unwatched?)

        def engage
          @lock.exclusively { @size += 1 }
          @start.call
        rescue ThreadError # the system gives no further thread: the others do the work
          @lock.exclusively { give_up_one }
          raise if @size.zero?
        end

        # The worker was killed.
        def replace(current)
          @lock.exclusively { retire(current) }
          engage unless @over
        end

        # @yieldreturn [Boolean] under the lock: whether another worker is needed
        def help
          needed = @lock.exclusively { yield && !@over && call_one }
          engage if needed == :another
        end

        # Under the lock. Workers that wait for answers themselves can't be called, and one more leads.
        def call_one
          return true if @idle.call
          return false if @size >= @limit + @aside + 1

          @idle.expect
          :another
        end

        # Under the lock: no worker comes, so the next request for one asks again.
        def give_up_one
          @size -= 1
          @idle.arrived
        end

        def step_aside(one)
          @lock.exclusively do
            lay_down(@leader) if @leader&.runs_here?
            @aside += one
            @running -= one
          end
          help { !@idle.called? && (@leader.nil? || @backlog.size.positive?) } if one.positive?
        end
      end
      private_constant :IdleWorkers, :WorkerPool
    end
  end
end
