# frozen_string_literal: true

require "etc"
require_relative "../fibers"
require_relative "../hybrid"
require_relative "../pace"
require_relative "../threads"
require_relative "../worker_thread"
require_relative "apart"
require_relative "climb"
require_relative "decision"
require_relative "ladder"
require_relative "stretch"

module Plait
  module Mechanisms
    class Auto < Mechanism
      # Runs the items at the level that the {Climb} is at. Threads and fibers put their outcomes into one queue, so that
      # items of the old level finish while items of a new one start. Processes and ractors work alone.
      class Pool < Executor
        CPU = if Process.const_defined?(:CLOCK_PROCESS_CPUTIME_ID)
                -> { Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) }
              else
                -> { Process.times.then { |times| times.utime + times.stime } } # JRuby
              end
        # Seconds at most for which a loop with many items in hand is left alone: a change of threads for each outcome would
        # cost more than an item's way through the loop.
        NAP = 0.005
        # Elsewhere Array#push and #shift are not atomic, see {Stretch}.
        STRETCHES = RUBY_ENGINE == "ruby"

        # @return [Proc] ends what a run has left whose caller is gone; it does not lead to the run
        def self.remains(parts) = -> { parts.each_value { |part| part&.call } }

        def initialize(attempt, cap, among)
          super()
          @attempt = attempt
          @cap = cap
          @among = among
          @remains = {}
          @finished = Mailbox.new(@remains)
          @ready = []
          @pending = 0
          @in_fibers = {}
          @stretches = {}.compare_by_identity
          @pace = Pace.new(1)
          @climb = Climb.new(Ladder.new(among, cap, Etc.nprocessors), @moment = Deadline.now, CPU)
          @apart = Apart.new(attempt, @remains, @climb)
          follow
        end

        def room? = @pending < (@plain ? @room : narrow)

        def submit(index, item)
          note_idle if @pending < @least
          @pending += 1
          @stretching ? stretch(index, item) : dispatch(index, item)
        end

        def ready? = !@ready.empty? || (@apart.pending.positive? ? @apart.ready? : !@finished.empty?)

        def take
          if (outcome = @ready.shift)
            @pending -= 1
            return outcome
          end
          return @apart.take&.then { |one| deliver(one) } if @apart.pending.positive?

          sleep(@nap) if @nap && @pending >= @busy && @finished.empty?
          receive(@finished.take(more?))
        end

        def await_rest(deadline)
          return true unless @fibers

          receive(@finished.pop) until @stretches.empty?
          @finished.settle
          @fibers.await_rest(deadline)
        end

        def cancel
          @finished.settle
          kept = @fibers ? @fibers.cancel : []
          kept += [@threads, *@apart.executors].compact.flat_map(&:cancel)
          kept += @stretches.keys.flat_map(&:done)
          (kept + @ready).grep(Outcome).reject { |outcome| outcome.item.is_a?(Stretch) }
        end

        def remains = Pool.remains(@remains)

        def close
          decide
          @finished.settle
          close_all([@threads, @fibers, *@apart.executors].compact)
        end

        private

        # All of them, also where an interrupt ends the wait for one.
        def close_all(executors)
          executors.shift&.close
        ensure
          close_all(executors) if executors.any?
        end

        def dispatch(index, item)
          case @level.kind
          when :threads then @stretching ? stretch(index, item) : threads.submit(index, item)
          when :fibers then in_fiber(index, item)
          else aside(index, item)
          end
        end

        def aside(index, item)
          @apart.submit(@level, index, item)
        rescue UnsupportedError => e
          raise if @apart.open?(@level)

          retreat(e)
          dispatch(index, item)
        end

        def in_fiber(index, item)
          @in_fibers[index] = true
          fibers.submit(index, item)
        end

        def stretch(index, item)
          return begin_stretch(index, item) if @stretch.nil? || @stretch.over?

          @stretch.add(index, item)
          hand_back(@stretch) if @stretch.over?
        end

        def begin_stretch(index, item)
          @stretch = Stretch.new(@attempt)
          @stretch.add(index, item)
          @stretches[@stretch] = true
          threads.submit(index, @stretch, @stretch)
        end

        # Its worker has left, or is no longer the only one.
        def hand_back(stretch)
          while (task = stretch.leftover)
            dispatch(*task)
          end
        end

        # An interrupt between a pool's start and its being known would leave its threads behind.
        def threads
          @threads || Uninterruptible.run do
            keep(:threads, @threads = Threads.new.executor(@attempt, limit: @level.limit, finished: @finished))
          end
        end

        def fibers
          @fibers || Uninterruptible.run do
            keep(:fibers, @fibers = Fibers.new.apart(detector || @attempt, limit: @level.limit, finished: @finished))
          end
        end

        def keep(name, executor)
          @remains[name] = executor.remains
          executor
        end

        def detector = @among.include?(:hybrid) ? (@detector = Hybrid::BlockingDetector.new(@attempt)) : nil

        # @return [Boolean] whether more items could be in flight
        def more? = !apart? && @pending >= @level.limit && @level.limit < @cap

        def receive(message)
          case message
          when Outcome then message.item.is_a?(Stretch) ? absorb(message) : admit(message)
          when Mailbox::TICK then stalled
          else fibers.receive(message == Mailbox::CLOSED ? nil : message)
          end
        end

        def admit(outcome)
          outcome = @in_fibers.delete(outcome.index) ? @fibers.receive(outcome) : @threads.receive(outcome)
          deliver(outcome) if outcome
        end

        def deliver(outcome)
          @pending -= 1
          @climb.record(@moment = outcome.finished_at || Deadline.now, outcome.ok? ? 1 : 0, 1) # one that never began has no times
          judge if @climb.due?
          outcome
        end

        # A stretch is over: what it has done, what its worker has died of, and what it has left.
        def absorb(outcome)
          stretch = outcome.item
          @threads.receive(outcome, again: false)
          @stretches.delete(stretch)
          @stretch = nil if @stretch.equal?(stretch)
          gather(stretch, outcome)
          bury(*stretch.current, stretch.tries, outcome.worker) if stretch.current
          hand_back(stretch)
          nil
        end

        def gather(stretch, outcome)
          @ready.concat(done = stretch.done)
          return if done.empty?

          @pace.record(outcome.duration, done.size)
          @room = room
          @climb.record(@moment = outcome.finished_at, done.count(&:ok?), done.size)
          judge if @climb.due?
        end

        def bury(index, item, tries, worker)
          death = WorkerThread.death(index, item, worker, tries)
          return @ready << death unless @attempt.policy.again?(death.error, tries)

          threads.submit(index, item, @attempt, tries)
        end

        def note_idle
          now = Deadline.now
          @climb.idle(now - @moment)
          @moment = now
        end

        def stalled
          follow if @climb.stalled(Deadline.now)
          nil
        end

        def judge
          @climb.judge(@pending)
          follow unless @climb.level == @level
          return unless @climb.settled?

          decide
          note_idle if @apart.dismiss(@level)
        end

        def follow
          @level = @climb.level
          apart? ? separate : arrange
          decide
        end

        def apart? = Ladder::APART.include?(@level.kind)

        def arrange
          threads = @level.kind == :threads
          @threads&.limit = threads ? @level.limit : 0
          @fibers&.width = @level.limit unless threads
          @stretching = STRETCHES && threads && @level.limit == 1
          @room = room
          @least = (@level.limit / 2.0).ceil
          @busy = @level.limit + @least
          @nap = nap
          @plain = threads && [@fibers, @apart.used?].none?
          end_stretch unless @stretching
        end

        # @return [Float, nil] seconds in which a loop begins a part of what it has in hand
        def nap
          rate = @climb.base&.rate
          [@level.limit / 4 / rate, NAP].min if rate&.positive? && @level.kind == :fibers && @level.limit >= Ladder::MANY
        end

        def end_stretch
          left, @stretch = @stretch, nil
          hand_back(left) if left
        end

        # They begin when nothing else runs.
        def separate
          @stretching = @plain = false
          @stretch = nil
          @least = 0
          @apart.open(@level)
        rescue UnsupportedError => e
          retreat(e)
        end

        # @param error [UnsupportedError] raised where there is no other level
        def retreat(error)
          @climb.refuse(@level)
          @level = @climb.level
          return arrange unless apart?

          raise error unless @apart.open?(@level)
        end

        # @return [Integer] items that may be pending while workers of several kinds have some
        def narrow
          return @pending.zero? || (@pending == @apart.pending && @apart.room?(@level)) ? @pending + 1 : 0 if apart?
          return 0 if @apart.pending.positive?

          mixed? ? @level.limit : @room
        end

        # Items in hand would come on top of items of the other kind, which run.
        def mixed? = @in_fibers.size != (@level.kind == :fibers ? @pending : 0)

        # One item in hand for each worker: it need not wait for the caller's thread to be switched to and back.
        def room = @stretching ? 1 + @pace.ahead : @level.limit * 2

        def decide = Decision.last = Decision.new(@climb) { |level| [name_of(level), level.limit] }

        def name_of(level)
          case level.kind
          when :threads then level.limit == 1 && @among.include?(:sequence) ? :sequence : :threads
          when :fibers then @detector && (@detector.offloading? || !@among.include?(:fibers)) ? :hybrid : :fibers
          else level.kind
          end
        end
      end

      # Where workers of all kinds put outcomes. A caller that waits for one is woken now and then, to see that none comes.
      class Mailbox < Thread::Queue
        CLOSED = :closed
        TICK = :tick
        # Seconds until the first look, and at most: it takes twice as long each time.
        TICKS = (0.005..0.2)
        LIMITED = RUBY_VERSION >= "3.2"

        # @param remains [Hash{Object => #call}] gets what ends its thread
        def initialize(remains)
          super()
          @remains = remains
          @pause = TICKS.begin
        end

        # Called by an event loop that has ended.
        def close = self << CLOSED

        # @param ticking [Boolean] whether to return by and by
        def take(ticking)
          return pop unless ticking && empty?
          return pop(timeout: longer) || TICK if LIMITED

          order unless @ordered
          message = pop
          @ordered = false if message == TICK
          message
        end

        # No more ticks come, and one that is there already can't pass for something else.
        def settle
          return unless @ticker

          @ticker.kill
          @ticker.join
          @ticker = nil
          Array.new(size) { pop }.each { |message| self << message unless message == TICK }
        end

        # Before Ruby 3.2 a queue has no time limit.
        # @param orders [Thread::Queue] of seconds
        def self.ticker(orders, mailbox)
          Thread.new do
            Thread.handle_interrupt(Object => :immediate) do # a thread inherits the mask of the thread that starts it
              while (seconds = orders.pop)
                sleep(seconds)
                mailbox << TICK
              end
            end
          end
        end

        private

        def longer = @pause.tap { @pause = [@pause * 2, TICKS.end].min }

        def order
          @ordered = true
          start_ticker unless @ticker
          @orders << longer
        rescue ThreadError
          nil # the system gives none: the level is changed by what finishes only
        end

        def start_ticker
          Uninterruptible.run do
            @ticker = Mailbox.ticker(@orders = Thread::Queue.new, self)
            @ticker.name = "plait ticker"
            @remains[:ticker] = @ticker.method(:kill)
          end
        end
      end
    end
  end
end
