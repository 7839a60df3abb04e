# frozen_string_literal: true

module Plait
  # Named before its parts are loaded: each of them opens it, and the autoload of the face must find it there.
  class Scheduler; end # rubocop:disable Lint/EmptyClass
end

require_relative "base"
require_relative "patches"
require_relative "offload"
require_relative "scheduler/ending"
require_relative "scheduler/wait"
require_relative "scheduler/io_hooks"
require_relative "scheduler/strands"
require_relative "scheduler/thread_hooks"
require_relative "scheduler/waiting"
require_relative "scheduler/watchdog"

module Plait
  # An event loop for one thread, behind Ruby's Fiber::Scheduler interface: `Fiber.set_scheduler(Plait::Scheduler.new)`
  # makes the blocking calls of that thread's non-blocking fibers wait together.
  #
  # Each turn: run what is ready, for {SLICE} seconds at most; poll the descriptors; fire the timers. Fibers switch by
  # `transfer`, between themselves and the fiber that created the scheduler.
  class Scheduler
    include Ending
    include IOHooks
    include ThreadHooks
    include Waiting
    include NativeScheduler if Native.available?

    # Seconds of ready fibers before descriptors and timers are looked at again. Unbounded turns stalled others for
    # 117 ms with 100 ActiveRecord fibers, bounded ones for 7 ms.
    SLICE = 0.004

    # Slices for jobs that have not started, in each turn. With less, a fan-out never reaches its limit of requests in flight:
    # answers to the first requests come in as fast as further ones start.
    START_SLICES = 3

    LOADING = Mutex.new

    # Seconds that one poll may last: selectors take no time that is much longer (milliseconds in an int).
    LONGEST_POLL = 3_600

    # @return [Scheduler, nil] the one of the current non-blocking fiber, if it is one of ours
    def self.current
      scheduler = Fiber.current_scheduler
      scheduler if scheduler.is_a?(Scheduler)
    end

    # @return [Scheduler, nil] the one that a thread has, until it is closed
    # @api private
    def self.of(thread) = thread.instance_variable_get(:@plait_loop)

    # The loop that the calling fiber can turn while it waits: that of its thread, or a new one.
    # @param example [String] of the call, inside a fiber
    # @yieldparam own [Scheduler] the new one
    # @return [Scheduler]
    # @raise [UnsupportedError]
    # @api private
    def self.turned_by_caller(example)
      existing = Fiber.scheduler
      return existing if existing.is_a?(self) && existing.home?
      raise UnsupportedError, foreign(existing, example) if existing

      new.tap do |own|
        yield own
        Fiber.set_scheduler(own)
      end
    end

    def self.foreign(scheduler, example)
      "this thread has a #{scheduler.class}, but the call comes from outside its fibers, or from a blocking one; make it " \
        "inside one: #{example}"
    end
    private_class_method :foreign

    # @param blocking [nil, :warn, :raise, :record, #call] the reaction to a call that blocks the loop
    # @param threshold [Float] seconds after which it counts as blocked
    # @param slice [Float] seconds of ready fibers in one turn
    # @param patch [Boolean] false: no loop of Plait in this process patches Ruby's classes; guides/mechanisms.md says what is
    #   lost then
    # @raise [UsageError] if patches are in already, and are not wanted
    def initialize(blocking: nil, threshold: 0.1, slice: SLICE, patch: true)
      take_options(slice, patch)
      @loop = Fiber.current
      @thread = Thread.current
      Watchdog.check(blocking, threshold)
      @selector = open_selector
      @timers = Timers.new
      @strands = Strands.new(self) { @loop.transfer }
      @jobs = @strands.jobs
      @ready = []
      @inbox = Inbox.new(self, @selector)
      @blocked = {}.compare_by_identity
      @raised = []
      attach if Native.available?
      @live = 0
      @fibers = {}.compare_by_identity
      @ticks = 0
      @rooted = Patches.root?
      @watchdog = Watchdog.for(self, blocking, threshold)
      @spinning = @watchdog.nil? && Native.available?
      @thread.instance_variable_set(:@plait_loop, self)
    end

    # @return [Thread] the one whose fibers it runs
    attr_reader :thread
    # @return [Watchdog, nil]
    attr_reader :watchdog

    # @return [Integer] grows with each switch and each wait; stands still while something blocks
    def ticks = @native ? @ticks + waits : @ticks

    # Runs until nothing is left to do.
    # @raise [Exception] the error of a fiber started by Fiber.schedule
    def run = run_until { idle? }

    # @param bound [Numeric, nil] seconds that one turn may wait for an event
    # @yieldreturn [Boolean] whether to stop; asked before anything is waited for
    def run_until(bound = nil)
      until yield
        run_ready
        settle unless @raised.empty?
        break if @failure || yield

        poll(bound)
        fire_timers
      end
      orderly = true
      raise_failure if @failure
    ensure
      torn unless orderly
    end

    # @return [Boolean] whether no fiber and no job is left
    def idle? = @live.zero?

    # Runs until nothing is left to do, or the deadline has passed.
    # @param deadline [Deadline, nil]
    # @return [Boolean] whether nothing is left to do
    # @api private
    def run_out(deadline)
      deadline ? run_within(deadline.remaining) { idle? } : run
      idle?
    end

    # As {run_until}, no longer than these seconds.
    # @api private
    def run_within(seconds)
      late = false
      alarm = after(seconds) { late = true }
      run_until { late || yield }
    ensure
      alarm&.cancel
    end

    # Runs a job on a fiber that is used again, soon after: in the order of the calls, when the current fiber waits.
    # @param job [#run] must not raise
    # @return [void]
    def spawn(job)
      @live += 1
      @strands.push(job)
    end

    # @return [Boolean] whether it is made, and its thread lives; on any thread
    # @api private
    def alive? = !@fibers.nil? && @thread.alive?

    # @return [Array<Fiber>] of blocks and of jobs; on the loop's thread
    # @api private
    def fibers = @fibers.keys | @strands.busy

    # @return [Boolean] whether fibers wait for a job
    # @api private
    def fibers_to_spare? = @strands.idle?

    # Ends the fibers that wait for a job.
    # @api private
    def end_spare_fibers = @strands.close(finish: true)

    # Called by a job in its `run`, which is over then, to be run once more.
    # @api private
    def again(job) = @jobs << job

    # Called by a job when its `run` is over.
    # @api private
    def finished
      @live -= 1
      @changed = true # the native loop then asks run_until's block again
    end

    # Called by one of its fibers: the block given to {#run_until} is to be asked again.
    # @api private
    def look_again = @changed = true

    # Called by one of its fibers: raises the exception in the fiber that turns the loop.
    # @api private
    def escalate(exception)
      @failure ||= exception unless @ending
      look_again
    end

    # Raises an exception in a fiber, at the point where it waits. Safe from any thread.
    # @yieldreturn [Boolean] whether it still concerns that fiber, asked at the moment of delivery
    def interrupt(fiber, exception, message = nil, &valid) = enter(Interrupt.new(fiber, exception, message, &valid))

    # Calls the block on the loop, between two fibers: it must not wait. Safe from any thread.
    # @api private
    def soon(&work) = enter(Errand.new(work))

    # Puts an entry into the ready list, from any thread.
    # @api private
    def enter(entry)
      return ready(entry) if Thread.current.equal?(@thread)

      @inbox.push(entry) unless closed?
    end

    # @api private
    def ready(entry) = @ready << entry

    # Runs the block on the thread pool of this loop; the current fiber waits for it.
    # @return [Object] the block's value
    def offload(&block) = offload_pool.call(&block)

    # @return [Offload::Pool]
    # @api private
    def offload_pool
      @offload_pool = Offload::Pool.new if @offload_pool.nil? || @offload_pool.forked? # by Process.daemon, which keeps the loop
      @offload_pool
    end

    private

    def take_options(slice, patch)
      raise UsageError, "slice: takes seconds above 0, not #{slice.inspect}" unless slice.is_a?(Numeric) && slice.positive?

      @slice = slice
      patch ? Patches.install : Patches.decline
    end

    # Where the extension has none of its own (other systems than Linux, PLAIT_PURE=1), io-event's: loaded with the first
    # scheduler, so that what never needs one (and JRuby) does without. By one thread at a time: two that load them at once
    # find each other's half.
    def open_selector
      return NativeSelector.new(@loop, @slice) if defined?(NativeSelector)

      LOADING.synchronize { require "io/event" }
      epoll = IO::Event::Selector.const_defined?(:EPoll) && IO::Event::Selector::EPoll
      epoll ? epoll.new(@loop) : IO::Event::Selector.new(@loop)
    end

    # An interrupt may have left the timers out of order.
    def torn
      @torn = true
      @timers.compact
    end

    def poll(bound)
      bound = 0 unless @ready.empty? && !@strands.runnable?
      return spin(@ready, @jobs, @timers.heap, bound) if @spinning

      @watchdog&.idle
      @selector.select(interval(bound))
      @watchdog&.busy
    rescue Errno::EINTR
      nil # a signal: its handler may have readied something
    end

    def raise_failure
      failure = @failure
      @failure = nil
      raise failure
    end

    def run_ready
      run_woken unless @ready.empty?
      run_jobs if @strands.pending?
    end

    def run_woken
      limit = Deadline.now + @slice
      while (entry = @ready.shift)
        @ticks += 1
        entry.dispatch(self)
        break if Deadline.now >= limit
      end
    end

    def run_jobs
      @slice_end = Deadline.now + (@slice * START_SLICES)
      started = false # one at least, however short a slice is
      while @strands.runnable? && (slice_left? || !started)
        started = true
        @ticks += 1
        @strands.dispatch
      end
    end

    # @return [Boolean] whether the program's own code was entered here without a fiber in between: only then does a
    #   fiber that ends return to the loop by itself
    def rooted? = @rooted

    # Entries of other threads for the loop's thread.
    #
    # It sits in the selector's own ready list, because the selector looks there with the GVL held, after its last
    # chance to be preempted and before it sleeps: a look from Ruby just before `select` can be overtaken by a push
    # whose wake-up then finds no sleeping thread (a lost wake-up).
    # @api private
    class Inbox
      def initialize(scheduler, selector)
        @scheduler = scheduler
        @selector = selector
        @entries = [] # Array#push and #shift are atomic under the GVL; always the same object
      end

      # @param entry [#dispatch]
      def push(entry)
        @entries << entry
        @selector.push(self)
        @selector.wakeup
      end

      # @!group Methods of a Fiber that the selector calls on its ready list

      def alive? = true

      # An interrupt may arrive after each call, and what were half moved would stay behind.
      def transfer = Uninterruptible.run { move }

      private

      def move
        while (entry = @entries.shift)
          @scheduler.ready(entry)
        end
      end
    end

    private_constant :LOADING, :Inbox
  end
end
