# frozen_string_literal: true

require_relative "../native_wire"
require_relative "loop"

module Plait
  module HTTP
    class FanOut
      # One fiber that waits for the answers to many requests. It hands a plain answer over, and sends the next request on the
      # same slot; a worker gets any other answer, and any error. So 10,000 requests in flight need no 10,000 fibers, and a
      # request no switch to a fiber and back.
      class Waiter
        include Job

        # It exists in C, on Linux.
        def self.possible? = defined?(NativeBatch) ? true : false

        def initialize(pool)
          @pool = pool
          @batch = NativeBatch.new
        end

        # @return [NativeBatch] slots launch their requests into it
        attr_reader :batch

        # @return [Boolean] whether it takes requests: on a loop of ours, as long as that turns
        def open? = @batch.open?

        def busy? = @busy

        # Called after a request was launched.
        def start
          return true if @busy

          @busy = true
          @pool.scheduler.spawn(self)
          true
        end

        def cancel
          @batch.evacuate.each(&:close)
          super
        end

        def close = @batch.close

        private

        def work
          pool = @pool
          @batch.each_landed { |slot, response| response ? pool.landed(slot, response) : pool.start(slot) } until @batch.empty?
        end

        def leave
          @busy = false
          @pool.scheduler.finished
          @pool.loop.wake_caller
        end
      end

      # One fiber of a pool: takes an item, gets its answer, hands it over, takes the next. The waiter gets a request that needs
      # no fiber, together with the slot.
      class Worker
        include Job

        # @param slot [Slot] may have an item already
        def initialize(pool, slot)
          @pool = pool
          @slot = slot
        end

        private

        def work
          serve(@slot.index, @slot.item) if @slot.index
          while @slot && (index = @pool.take)
            item = @pool.taken
            @pool.add_worker
            @slot.load(index, item)
            serve(index, item)
          end
        end

        def serve(index, item)
          response = @slot.call(item, @pool.waiter)
        rescue StandardError, ScriptError => e
          hand_over(index, item, nil, e)
        else
          response ? hand_over(index, item, response) : @slot = nil # else the waiter has the slot now
        end

        def hand_over(index, item, response, error = nil)
          @pool.deliver(index, item, response, error)
          @pool.pause
        end

        def leave
          @pool.put_back(@slot) if @slot
        ensure
          @pool.left(self)
        end
      end

      # Fibers that take items from one source and hand answers over to one caller; where possible a {Waiter} waits for the
      # answers in their place. No object is made for an item: fibers, slots and the Arrays between them are used again. As many
      # slots are in use as items are in flight.
      class FiberPool
        # Seconds that cancelled workers have for their `ensure` blocks before they are abandoned.
        GRACE = 2.0
        # Answers that wait for the caller, for each item in flight; beyond it no further request is sent. In one turn of the
        # loop each item in flight gets one.
        BACKLOG = 2

        attr_reader :loop
        # @return [Scheduler, ForeignLoop] of the loop
        attr_reader :scheduler
        # @return [Object] the item that was taken last
        attr_reader :taken

        # @param limit [Integer] items in flight at most
        # @param outcomes [Boolean] whether all answers are given as {Outcome}s
        # @param waits [Boolean] whether a {Waiter} is allowed: it does not tell the source of items that are done
        # @yieldreturn [Slot] a new one
        def initialize(source, limit, outcomes: false, waits: true, &slot)
          @loop = Loop.for_caller
          @scheduler = @loop.scheduler
          @source = source
          @limit = limit
          @backlog = limit * BACKLOG
          @outcomes = outcomes
          @waits = waits && Waiter.possible?
          @slot = slot
          @slots = []
          @idle = []
          @workers = {}.compare_by_identity
          @answers = []
          @parked = []
        end

        # @param deadline [Deadline, nil] for the source, and for fibers left behind
        # @yieldparam answer [Response, Outcome] the Response has the index of its item; an Outcome where a slot raised
        # @return [Boolean] see {Loop#await_rest}
        def each(deadline)
          @source.open(self)
          add_worker
          until over?
            wait(deadline) { !@answers.empty? || @aborted || over? }
            raise @aborted if @aborted

            yield(@answers.shift) until @answers.empty?
            resume
            add_worker # the caller may have found further items
          end
          @loop.await_rest(deadline)
        ensure
          shut
        end

        # Ends all requests in flight.
        # @return [Array<Response, Outcome>] answers that the caller has not taken
        def cancel
          @cancelled = true
          @waiter&.cancel
          @workers.keys.each(&:cancel) # rubocop:disable Style/HashEachMethods -- they leave meanwhile
          @source.close
          resume
          @loop.wait_briefly(GRACE) { deserted? }
          @answers.slice!(0..)
        end

        # @!group For workers and the waiter

        def waiter
          return if @cancelled || !@waits

          @waiter ||= Waiter.new(self)
          @waiter if @waiter.open?
        end

        # @return [Integer, nil] the index of the next item, which is {taken}; nil when there is none
        def take
          return if @cancelled

          index = @source.take or return
          @taken = @source.item
          index
        end

        # @param response [Response, nil] the answer to an item; nil: it has failed
        def deliver(index, item, response, error = nil)
          @source.done(item)
          response.index = index if response
          @answers << (@outcomes || error ? Outcome.new(index: index, item: item, value: response, error: error) : response)
          @loop.wake_caller if @answers.size == 1
        end

        # Waits, if too many answers wait for the caller.
        def pause = (@scheduler.park { |place| @parked << place } if full? && !@cancelled)

        # @param error [Exception] of the pool, not of an item: the caller's
        def abort(error)
          @aborted ||= error
          @loop.wake_caller
        end

        def left(worker)
          @scheduler.finished # first: without this a loop would never end, see {Mechanisms::Fibers::Pool}
          @workers.delete(worker)
          @loop.wake_caller
        end

        # A worker that has taken an item calls it for the next one. A new worker may start at once.
        def add_worker
          slot = lend and start(slot)
        end

        # @param slot [Slot] may have an item already
        def start(slot)
          worker = Worker.new(self, slot)
          @workers[worker] = true
          @scheduler.spawn(worker)
        end

        # @return [Slot, nil] for a further item; nil: there is none, or enough are in flight
        def lend
          return if @cancelled || full? || !@source.more?
          return @idle.pop unless @idle.empty?
          return if @slots.size >= @limit

          @slot.call.tap { |slot| @slots << slot }
        end

        def put_back(slot)
          slot.close
          @idle << slot
        end

        # The waiter has the answer to the item of a slot, on which the next request goes out first.
        def landed(slot, response)
          index = slot.index
          item = slot.item
          go_on(slot)
          deliver(index, item, response)
        end

        private

        def wait(deadline, &condition)
          return @loop.wait(&condition) if deadline.nil? || deadline.expired?

          @loop.wait_briefly(deadline.remaining, &condition)
          @source.expire if deadline.expired?
        end

        def deserted? = @workers.empty? && !@waiter&.busy?

        def go_on(slot)
          index = @source.take_now unless @cancelled || full?
          return put_back(slot) unless index

          slot.relay(index, @source.item) || start(slot)
        end

        def over? = deserted? && @answers.empty? && @source.over?

        def full? = @answers.size >= @backlog

        def resume
          @scheduler.wake(@parked.pop) until @parked.empty?
        end

        def shut
          cancel unless deserted?
        ensure
          @source.close
          @slots.each(&:close)
          @waiter&.close
          @loop.close(GRACE)
        end
      end
    end
  end
end
