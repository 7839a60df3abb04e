# frozen_string_literal: true

require_relative "worker_pool/leading"
require_relative "survival"
require_relative "../incoming"
require_relative "../lock"
require_relative "../native_line"
require "plait/mechanisms/thread_guard"
require "plait/values/deadline"

module Plait
  module RPC
    class Server
      # Where workers sit who have nothing to do. All of it but {#rest} is done under the server's lock.
      class Bench
        # Seconds between two looks whether the work goes on.
        TICK = 0.005
        # Seconds without anything to do after which somebody gets up for good.
        LONG = 10

        def initialize(lock)
          @lock = lock
          @sleepers = []
        end

        # @return [Boolean] whether nobody sits here
        def empty? = @sleepers.empty?

        # @return [Boolean] whether somebody was called who has not come yet
        def called? = @called || false

        # He who was called is there.
        def arrived = @called = false

        # From here on one can be called.
        # @return [Lock::Sleeper] of the current thread or fiber
        def sit_down = Lock::Sleeper.new.tap { |sleeper| @sleepers << sleeper }

        # Not under the lock. While methods are run that nobody is called for, one looks now and then.
        # @return [Symbol, nil] :long when nothing has come for long
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

        # Work is done that might wait, though it never did: somebody has to have an eye on it.
        # @return [Boolean] whether nobody has
        def unwatched?
          @lively = true
          !@watched
        end

        # Calls one, the last to have sat down.
        # @return [Boolean] whether there was anybody
        def call
          return false if empty?

          @called = true
          @sleepers.pop.call
          true
        end

        # One who has not sat here yet will come.
        def expect = @called = true

        def call_all = @sleepers.each(&:call)
      end

      # Those who do the work: threads, or fibers. One of them, the leader, waits at the switchboard for all. What he finds are
      # requests. Quick ones of a single connection he runs himself, see {Leading}; else he lays the leader's role down and runs
      # one, and others run others.
      #
      # Nobody can say whether a method will wait. So before one is run that was not quick the last times, somebody else is
      # called who leads meanwhile. Before a quick one nobody is: that would cost more than the method. Should it wait all the
      # same, somebody who looks every few milliseconds takes over. While answers can wait for others that come soon, they
      # leave together.
      class WorkerPool
        include Leading

        # Seconds that an answer waits for others at most, while quick methods are run.
        GATHER = 0.001
        # Bytes of a connection that do not wait for more: whether it takes them is to be known before others are made.
        PORTION = 64 * 1024

        # @return [Integer] methods that are being run
        attr_reader :running
        # @return [Integer] workers
        attr_reader :size
        # @return [Integer] requests and notifications that were run
        attr_reader :done
        # @return [Dispatcher] by which they come
        attr_writer :dispatcher
        # @return [Handler, Hybrid] runs a single request
        attr_writer :runner

        # @param board [Switchboard]
        # @param limit [Integer] methods that are run at once
        # @yield starts a worker: a thread or a fiber that calls {#work}
        def initialize(lock, board, backlog, handler, limit, &start)
          @lock = lock
          @board = board
          @backlog = backlog
          @handler = handler
          @runner = handler
          @limit = limit
          @start = start
          @bench = Bench.new(lock)
          @members = {}.compare_by_identity # fibers that work
          @running = @size = @done = @aside = 0
        end

        # Sees to it that {#done}, and what its dispatcher has counted, is up to date.
        def take_stock = @lock.exclusively { count_visit(@stint) }

        def begin
          Survival.expect_exit
          CORE.times { engage }
        end

        # Of one worker: it returns when there is nothing to do for long, or all is over.
        def work = Survival.shielded(@handler) { work_on }

        # Workers who never leave: one who works, and one who looks.
        CORE = 2

        # There is work that nobody has seen coming.
        def call = help { !@bench.empty? || !@bench.called? }

        # Somebody shall look after a peer.
        def attend(peer)
          @lock.exclusively { @board.resumed << peer }
          call
        end

        # Everybody leaves when he is done with what he does.
        def dismiss
          @lock.exclusively do
            @over = true
            @bench.call_all
          end
        end

        # Runs the block, which waits for an answer of somebody else: meanwhile another one may work in one's place.
        # @return [Object] the block's value
        def aside
          return yield unless @lock.exclusively { @members.key?(Fiber.current) }

          step_aside(1)
          begin
            yield
          ensure
            step_aside(-1)
          end
        end

        private

        def work_on
          @lock.exclusively { @members[Fiber.current] = true }
          @bench.arrived
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

        def work?(duty) = duty.is_a?(Incoming) || duty.is_a?(NativeBatch) || duty.is_a?(Stint)

        # @param finished [Incoming, NativeBatch, Stint, nil] what it has just run
        # @return [Incoming, NativeBatch, Stint, Peer, Symbol, nil] nil: it leaves
        def next_duty(finished)
          rested = nil
          loop do
            sleeper = nil
            duty = @lock.exclusively do
              conclude(finished) if finished
              choose(rested) || ((sleeper = @bench.sit_down) && nil)
            end
            return duty == :leave ? nil : duty if duty

            finished = nil
            rested = @bench.rest(sleeper)
          end
        end

        # All of these are under the lock.

        def choose(rested)
          return leave if @over

          lay_down(@stint) if @stint&.stuck?
          work_at_hand || (lead_on unless @stint) || (leave if rested == :long && @size > CORE)
        end

        def lead_on = @stint = Stint.new(prepare_visits)

        def work_at_hand
          return @board.resumed.shift if @board.resumed.any?
          return begin_one if @running < @limit && (@next = @backlog.shift)

          :flush if @board.dirty?
        end

        # Should one of a batch take long, somebody else sends the answers of those before it.
        def begin_one
          @running += 1
          @board.soil(@next.connection) if @next.is_a?(NativeBatch)
          @next
        end

        def conclude(work)
          return (conclude(work.batch) if work.batch) if work.is_a?(Stint)

          @running -= 1
          peer = work.connection.session
          work.is_a?(NativeBatch) ? settle(work, peer) : count(peer, 1)
          @backlog.told(work, peer)
          @board.soil(work.connection) if work.connection.unsent.positive?
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
          when Stint then lead(duty)
          when :flush then @board.flush
          else @board.attend(duty)
          end
        end

        # Quick ones; and the first that is not.
        def perform_some(batch)
          stay_awake
          other = begin_with(batch)
          perform_for(batch, other) if other
          @backlog.empty? ? @board.flush : send_off(batch.connection, Deadline.now)
        end

        # An exception that comes behind what was left must not lose it.
        def begin_with(batch)
          left = nil
          survive { ThreadGuard.lowered { left = batch.run(@handler) } }
          left
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

        # What a method raises has been told to its caller. What ends the server ends the worker too.
        def survive(&block)
          Survival.of(&block)
        rescue Exception # rubocop:disable Lint/RescueException
          raise if @over
        end

        # It may take long: what is to be sent leaves, and somebody else leads.
        def make_way
          @board.flush
          help { (@stint.nil? || work_left?) && !@bench.called? }
        end

        # That the leader has not seen come.
        def work_left? = @backlog.size.positive? && @running < @limit

        # It won't. Should it do so, somebody has an eye on it.
        def stay_awake
          help { !@bench.called? } if @bench.unwatched?
        end

        def engage
          @lock.exclusively { @size += 1 }
          @start.call
        rescue ThreadError # there are no more threads to be had: those that are there do the work
          @lock.exclusively { give_up_one }
          raise if @size.zero?
        end

        # It was killed at its work.
        def replace(current)
          @lock.exclusively { retire(current) }
          engage unless @over
        end

        # @yieldreturn [Boolean] under the lock: whether anybody is needed
        def help
          needed = @lock.exclusively { yield && !@over && call_one }
          engage if needed == :another
        end

        # Under the lock. Of those who wait for answers themselves none can be called, and one is always left who leads.
        def call_one
          return true if @bench.call
          return false if @size >= @limit + @aside + 1

          @bench.expect
          :another
        end

        # Under the lock: nobody comes, so that the next one who needs somebody has to call again.
        def give_up_one
          @size -= 1
          @bench.arrived
        end

        def step_aside(one)
          @lock.exclusively do
            lay_down(@stint) if @stint&.runs_here?
            @aside += one
            @running -= one
          end
          help { !@bench.called? && (@stint.nil? || @backlog.size.positive?) } if one.positive?
        end
      end
      private_constant :Bench, :WorkerPool
    end
  end
end
