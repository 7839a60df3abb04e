# frozen_string_literal: true

require "plait"
# Where it is required by name: opening the constant must not load it a second time.
Plait.autoload(:Pool, __FILE__) if Plait.autoload?(:Pool)

module Plait
  # Named before its parts are loaded: each of them opens it, and the autoload of the face must find it defined.
  class Pool; end # rubocop:disable Lint/EmptyClass
end

require "plait/io/native"
require "plait/io/pool"
require "plait/mechanisms/base"
require_relative "pool/state"
require_relative "pool/upkeep"

module Plait
  # Connections to one place (a database, a cache), shared by any number of threads and fibers: bounded, served in the order
  # of asking, looked at before they are used again, never given on with an answer pending. ({Io::Pool} is for many places.)
  #
  # @example
  #   pool = Plait::Pool.new(size: 16, check: ->(db) { db.ping }) { Trilogy.new(host: "localhost") }
  #   Plait.map(ids, on: :fibers) { |id| pool.with { |db| db.query("SELECT …") } }
  class Pool
    # Names of the fiber-local variables that hold a fiber's entry of a pool. A finalizer of the pool frees its name: Ruby keeps
    # symbols that C has seen, and each fiber keeps a place for a variable that it had.
    # @api private
    module Keys
      @free = Queue.new
      @made = 0
      @lock = Mutex.new

      class << self
        def for(pool) = take.tap { |key| MainRactor::Finalizer.define(pool, giving_back(key)) }

        private

        def take
          @free.pop(true)
        rescue ThreadError
          @lock.synchronize { :"plait_pool_#{@made += 1}" }
        end

        # Made here: the block must not refer to the pool.
        def giving_back(key) = -> { @free << key }
      end
    end

    # A forked process has the connections of its parent, too. A driver that says goodbye on one, at exit or from a finalizer,
    # would end the parent's session. So the child gives them up at once, without a byte to the server.
    # @api private
    module Forks
      @watched = ObjectSpace::WeakMap.new

      # For Process: each way to fork calls one of these two.
      module Hook
        def _fork = super.tap { |pid| Forks.abandon_all if pid.zero? }

        def daemon(...) = super.tap { Forks.abandon_all }
      end

      class << self
        def watch(owner)
          install
          @watched[owner] = owner # Ruby 3.1's each_key yields dead keys of values that live (bug 18586)
        end

        def abandon_all = @watched.each_key(&:abandon)

        private

        def install
          return if @installed

          Process.singleton_class.prepend(Hook) if Process.respond_to?(:_fork)
          @installed = true # last: another thread goes on only with the hook in place
        end
      end
    end

    private_constant :Forks, :Keys
    include Io::Pool::Locking

    # Calls `abandon` in each forked process, before anything else is done there.
    # @param owner [#abandon] of connections
    # @api private
    def self.watch_forks(owner) = Forks.watch(owner)

    # @param size [Integer] connections at most
    # @param timeout [Numeric, nil] seconds for which {with} and {checkout} wait; nil: without a limit
    # @param max_lifetime [Numeric, nil] seconds after which a connection is replaced at its next checkout; each gets up to a
    #   tenth less, so that they don't end together
    # @param idle_timeout [Numeric, nil] seconds without use after which a connection is closed: at the next checkin or checkout
    #   of any, or by {sweep}
    # @param check [#call, nil] (connection) => whether it still works; an error of `errors:` means no. Give its driver a timeout
    # @param check_after [Numeric] seconds without use after which it is checked
    # @param fit [#call, nil] (connection, error) => whether a connection is as good as new after a StandardError of the block:
    #   a refused statement, for instance. nil: it is closed. After a timeout, a cancellation, a kill or a throw it is closed
    #   in any case: an answer may be pending
    # @param close [#call, nil] (connection); nil: its method `close`
    # @param abandon [#call, nil] (connection): in the child of a fork, with a connection that is the parent's. It must not
    #   talk to the server. nil: nothing is done with it
    # @param linger [#call, nil] (connection, over) with one that can't be given back => whether a call on it goes on. It keeps
    #   its place until `over` is called, from any thread: with true the pool has it again, else it is closed then
    # @param errors [Array<Class>] errors of `check:` and `close:` that mean the end of the connection. Any other error, and
    #   always a plain Timeout::Error, comes from a time limit of the caller, and reaches the caller
    # @param name [String] its name in errors
    # @yieldreturn [Object] a new connection
    # @raise [UsageError]
    def initialize(size: 16, timeout: 5, max_lifetime: nil, idle_timeout: nil, check: nil, check_after: 1, fit: nil, close: nil,
                   abandon: nil, linger: nil, errors: [StandardError], name: "the pool", &connect)
      raise UsageError, "Plait::Pool.new needs a block that makes a connection" unless connect

      @options = Options.new(size: size, timeout: timeout, max_lifetime: max_lifetime, idle_timeout: idle_timeout, check: check,
                             check_after: check_after, fit: fit, close: close, abandon: abandon, linger: linger,
                             errors: errors, name: name).check!
      @upkeep = Upkeep.new(@options, connect)
      @lock = Mutex.new
      @key = Keys.for(self)
      @out = {}.compare_by_identity
      @closed = false
      open
      Pool.watch_forks(self)
    end

    # Lends the block a connection. An inner block of the same fiber gets the same connection.
    #
    # A block that comes to its end, or leaves by `break` or `return`, gives it back (without the extension these two look
    # like a throw). After any other exit it is closed, see `fit:`.
    # @param timeout [Numeric, nil] seconds
    # @yieldparam connection [Object]
    # @return [Object] the block's value
    # @raise [PoolTimeout] when none came free in time
    # @raise [UsageError] when the pool is closed
    def with(timeout: @options.timeout, &block)
      raise UsageError, "Plait::Pool#with needs a block, which is given the connection" unless block

      lent = Thread.current[@key]
      return yield(lent.connection) if lent && !inherited?(lent)

      checkout = Io::Pool::Checkout.new(nil)
      unused = true
      begin
        entry = obtain(checkout, timeout)
        unused = false
        use(entry, &block)
      ensure
        uninterruptible { settle(checkout, unused) }
      end
    end

    # @return [Boolean] whether the current fiber is in a block of {with}
    def lent? = !Thread.current[@key].nil? && !inherited?(Thread.current[@key])

    # As {with}, for longer than a block, on any thread or fiber: the connection must come back by {checkin} or {discard}.
    # @param take [#call, nil] is given the connection, before any interrupt can come. An interrupt while {checkout} returns
    #   would lose the returned connection
    # @return [Object] a connection
    def checkout(timeout: @options.timeout, take: nil)
      checkout = Io::Pool::Checkout.new(nil)
      taken = nil
      entry = obtain(checkout, timeout)
      uninterruptible do
        take&.call(entry.connection)
        taken = @out[entry.connection] = entry
      end
      entry.connection
    ensure
      uninterruptible { settle(checkout, true) if checkout && !taken }
    end

    # @return [void]
    # @raise [UsageError] when it is not checked out
    def checkin(connection) = bring_back(connection, true)

    # Closes a connection, and gives its place to the checkout that has waited longest.
    # @return [void]
    # @raise [UsageError] when it is not checked out
    def discard(connection) = bring_back(connection, false)

    # Closes idle connections that were unused, or have lived, for too long.
    # @return [void]
    def sweep
      now = Deadline.now
      @sweep_at = @upkeep.next_sweep(now)
      change { @state.expire(:retired) { |entry| @upkeep.expired?(entry, now) } }
    end

    # Closes idle connections.
    # @return [void]
    def clear = change { @state.expire { true } }

    # Closes idle connections, and busy ones when they come back. A waiting checkout gets a {UsageError}.
    # @return [void]
    def close
      change do
        @closed = true
        @state.refuse_all
        @state.expire { true }
      end
    end

    # In the child of a fork, before anything else is done there.
    # @api private
    def abandon = @generation == Native.fork_generation || start_in_child

    # @return [Boolean]
    def closed? = @closed

    # @return [Hash{Symbol => Numeric}] of now: size, idle, busy (new ones included), closing (see `linger:`),
    #   waiting; counted: connected, stale, retired (by age or disuse), waits, waited (seconds in all), longest_wait (seconds),
    #   timeouts
    def statistics = locked { @state.report }

    # @return [String]
    def inspect = "#<#{self.class} #{statistics}>"

    private

    def open
      @generation = Native.fork_generation
      @state = State.new(@options.size)
      @idle = @state.idle
      @waiting = @state.waiting
      @check_after = @options.check_after.to_f
      @sweep_at = @upkeep.next_sweep(Deadline.now)
    end

    # Lends the connection of an entry. {Native::Lending} does the same, and can tell `break` from a throw.
    def use(entry)
      Thread.current[@key] = entry
      value = yield entry.connection
      finished = true
      value
    rescue StandardError => e
      error = e
      raise
    ensure
      uninterruptible do
        Thread.current[@key] = nil
        take_back(entry, finished, error)
      end
    end

    def obtain(checkout, timeout)
      locked { @closed ? checkout.refuse : @state.admit(checkout) }
      await(checkout, Deadline.after(timeout)) unless checkout.granted?
      raise @options.closed if checkout.refused?

      (checkout.entry && usable(checkout)) || connect(checkout)
    end

    def await(*)
      started = Deadline.now
      super
    ensure
      locked { @state.waited(Deadline.now - started) } if started # else an interrupt came before the wait
    end

    # @return [Entry, nil] nil: its connection does not work any more, and is closed
    def usable(checkout)
      entry = checkout.entry
      fault = fault_of(entry, Deadline.now) or return entry
      change do
        @state.strike(checkout, fault)
        [entry]
      end
      nil
    end

    # The answer to a check that is interrupted may be pending.
    def fault_of(entry, now)
      checked = now < entry.good_until
      fault = checked ? nil : @upkeep.fault(entry, now)
      checked = true
      fault
    ensure
      take_back(entry, false, nil) unless checked
    end

    def connect(checkout) = @upkeep.connect(@generation) { |entry| synchronized { @state.enter(checkout, entry) } }

    # A checkout is over: a connection or place that it still has goes back.
    def settle(checkout, unused)
      synchronized { @state.withdraw(checkout) unless checkout.entry } unless checkout.entry # another thread may just give it one
      entry = checkout.entry
      take_back(entry, unused, nil, unused ? entry.good_until : Deadline.now) if entry&.holder.equal?(checkout)
    end

    # @param finished [Boolean] whether the block came to its end
    # @param error [StandardError, nil] of the block
    # @param until_then [Float, nil] monotonic seconds after which it has to be checked; no call gives its default: where C
    #   calls this, an interrupt would come before the mask
    def take_back(entry, finished, error, until_then = nil)
      uninterruptible do
        next if inherited?(entry)

        keep = finished || (error && @upkeep.fit?(entry, error))
        synchronized do
          keep &&= !@closed
          entry.rest(until_then || next_check(finished))
          keep ? @state.give_back(entry) : @state.leave(entry, !@options.linger.nil?)
        end
        part(entry, @state) unless keep
        sweep if Deadline.now >= @sweep_at
      end
    end

    def next_check(finished) = Deadline.now + (finished ? @check_after : 0)

    def part(entry, state)
      return @upkeep.close([entry]) unless @options.linger

      over = ->(usable = false) { (usable && locked { come_back(entry, state) }) || depart(entry, state) }
      lingers = @options.linger.call(entry.connection, over)
    ensure
      over.call if over && !lingers
    end

    # @return [Boolean] whether the pool is open
    def come_back(entry, state)
      return false if @closed

      entry.rest(Deadline.now + @check_after)
      state.come_back(entry)
      true
    end

    def depart(entry, state)
      @upkeep.close([entry])
    ensure
      locked { state.depart }
    end

    def bring_back(connection, whole) = uninterruptible { take_back(checked_out(connection), whole, nil) }

    def checked_out(connection)
      @out.delete(connection) or raise UsageError, "this connection is not checked out: was it brought back twice?"
    end

    def close_all(entries) = @upkeep.close(entries)

    # In the child of a fork all connections are the parent's.
    def start_in_child
      parents = @state.entries
      open
      @upkeep.abandon(parents)
    end

    def inherited?(entry) = entry.generation != Native.fork_generation

    def too_late(_checkout)
      @state.count(:timeouts)
      @options.too_late(@state.waiting.size)
    end

    prepend(Native::Lending) if Native.available?
  end
end
