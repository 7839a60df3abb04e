# frozen_string_literal: true

require_relative "native"
require "plait/mechanisms/readiness"

module Plait
  module Io
    # The reactor where there is no epoll or no extension, by IO.select: each wait looks at all of them. See {Reactor}.
    class PureReactor
      # As IO::READABLE and IO::WRITABLE.
      READABLE = 1
      WRITABLE = 4
      INTERESTS = [READABLE, WRITABLE, READABLE | WRITABLE].freeze
      QUEUES = 4
      # Tokens that one wait returns at most.
      BATCH = 64

      def initialize
        @lock = Mutex.new
        start
      end

      # @raise [IOError]
      def add(io, token, interest = READABLE, queue = 0)
        check(interest, queue)
        raw = raw_of(io)
        change { @register.add(raw, token, interest, queue) }
      end

      # @raise [ArgumentError] when it was never added
      # @raise [IOError]
      def rearm(io, interest = READABLE, queue = 0, keep = false) # rubocop:disable Style/OptionalBooleanParameter -- as in C
        check(interest, queue)
        raw = raw_of(io)
        change { @register.rearm(raw, interest, queue, keep) or raise ArgumentError, "it was never added to this reactor" }
      end

      # @raise [IOError]
      def remove(io)
        raw = raw_of(io)
        known = false
        change { known = @register.remove(raw) } unless closed?
        known
      end

      def wait(deadline = nil)
        attend do
          until @closed
            tokens = look(deadline&.remaining)
            return tokens if tokens.any? || woken? || deadline&.expired?
          end
        end
      end

      def wake
        settle_in
        @woken = true
        signal_waiter
      end

      def size = synchronize { @register.size }

      def expire(queue, before)
        check(READABLE, queue)
        synchronize { @register.expire(queue, before) }
      end

      def oldest(queue)
        check(READABLE, queue)
        synchronize { @register.oldest(queue) }
      end

      def close
        settle_in
        @closed = true
        signal_waiter
        release if @waiters.zero?
      end

      def closed? = @closed

      private

      def start
        @generation = Native.fork_generation
        @closed = false
        @woken = false
        @waiters = 0
        @register = Register.new(QUEUES)
        @wake = IO.pipe
      end

      # The child of a fork starts empty, and with a wake-up pipe of its own.
      def settle_in
        return if @generation == Native.fork_generation || @closed

        @lock = Mutex.new
        @wake.each(&:close)
        start
      end

      def synchronize(&block)
        settle_in
        @lock.synchronize(&block)
      end

      def raw_of(io)
        raw = io.to_io
        raw.closed? ? raise(IOError, "closed stream") : raw
      end

      def check(interest, queue)
        raise ArgumentError, "interest is READABLE, WRITABLE or both, not #{interest}" unless INTERESTS.include?(interest)
        return if queue.is_a?(Integer) && queue.between?(0, QUEUES - 1)

        raise ArgumentError, "a queue is a number from 0 to #{QUEUES - 1}, not #{queue}"
      end

      # A waiting thread selects the connections that were there at its start.
      def change(&block)
        raise IOError, "the reactor is closed" if @closed

        synchronize(&block)
        signal_waiter if @waiters.positive?
        self
      end

      # A thread that waits keeps the pipe.
      def attend
        settle_in
        @waiters += 1
        yield
      ensure
        @waiters -= 1
        release if @closed && @waiters.zero?
      end

      def woken? = @woken.tap { @woken = false }

      # With 0 IO.select sees nothing while a signal is on its way (Rubies up to 4.0), not even that the pipe is writable.
      # @return [Array] tokens of ready connections, {BATCH} at most
      def look(seconds)
        readables, writables = synchronize { @register.awaited }
        writables << @wake.last if seconds&.zero?
        ready, writable = Readiness.wait([@wake.first, *readables], writables, seconds)
        return seconds&.zero? ? look(seconds) : [] unless ready

        silence if ready.delete(@wake.first)
        synchronize { @register.take(ready | writable, BATCH) }
      rescue IOError, Errno::EBADF
        [] # one was closed meanwhile: it is no longer among the next ones
      end

      def signal_waiter
        @wake.last.write_nonblock(".", exception: false)
        nil
      rescue IOError, SystemCallError
        nil # no thread waits any more
      end

      def silence = @wake.first.read_nonblock(4096, exception: false)

      # The write end first: closing the read end could end the wait too early.
      def release
        @wake.reverse_each(&:close)
        @register = Register.new(QUEUES)
        nil
      end

      # The waiting connections: for what, and since when. One thread at a time uses it.
      class Register
        Entry = Struct.new(:io, :token, :interest, :queue, :since, :armed)

        def initialize(queues)
          @entries = {}.compare_by_identity
          @queues = Array.new(queues) { {}.compare_by_identity }
        end

        def size = @entries.size

        # @param io [IO] of which nothing else is known from now on
        def add(io, token, interest, queue)
          remove(io)
          arm(Entry.new(io, token), interest, queue)
        end

        # @param keep [Boolean] the place in that queue
        # @return [Boolean] whether it is there
        def rearm(io, interest, queue, keep)
          entry = @entries[io] or return false

          arm(entry, interest, queue, keep: keep && entry.queue == queue)
          true
        end

        # @return [Boolean] whether it was there
        def remove(io)
          entry = @entries.delete(io) or return false

          @queues[entry.queue].delete(entry)
          true
        end

        # @return [Array(Array<IO>, Array<IO>)] the ones to wait for as readable, and as writable; the longest waiting first
        def awaited
          @entries.each_key.select(&:closed?).each { |io| remove(io) }
          armed = @entries.each_value.select(&:armed)
          [READABLE, WRITABLE].map { |bit| armed.select { |entry| entry.interest.anybits?(bit) }.map(&:io) }
        end

        # @param ios [Array<IO>] the ready ones
        # @param count [Integer] at most
        # @return [Array] tokens of the longest waiting ones, which are silent from now on
        def take(ios, count)
          return [] if ios.empty?

          ready = ios.to_h { |io| [io, true] }
          tell(@entries.each_value.select { |entry| entry.armed && ready[entry.io] }.first(count))
        end

        # @return [Array] tokens
        def expire(queue, before)
          old = @queues[queue].each_key.take_while { |entry| entry.since < before }
          tell(old.select(&:armed))
        end

        def oldest(queue) = @queues[queue].each_key.find(&:armed)&.since

        private

        # Behind all others: they have been waiting for longer.
        def arm(entry, interest, queue, keep: false)
          @entries.delete(entry.io)
          @entries[entry.io] = entry
          entry.interest = interest
          entry.armed = true
          enqueue(entry, queue) unless keep
        end

        def enqueue(entry, queue)
          @queues[entry.queue].delete(entry) if entry.queue
          entry.queue = queue
          entry.since = Deadline.now
          @queues[queue][entry] = true
        end

        def tell(entries) = entries.each { |entry| entry.armed = false }.map(&:token)
      end
    end

    # Connections that wait for their peer, any number of them, and one thread that waits for all. A connection in it costs a
    # descriptor and some bytes: no fiber, no thread, no String.
    #
    # - `add(io, token, interest = READABLE, queue = 0)`: `wait` returns the token once, when the IO has become readable
    #   (WRITABLE: writable; either of READABLE | WRITABLE), or was closed by its peer. Then it is silent until it is armed
    #   again: the thread that got the token has the connection alone.
    # - `rearm(io, interest = READABLE, queue = 0, keep = false)` arms it again, or with another interest.
    # - `remove(io)`: before it is closed. Returns whether it was there.
    # - `wait(deadline = nil)`: an Array of the tokens that are ready; of many some first, and none twice
    #   before all others had theirs. Empty when the deadline has passed or when it was woken; nil when the reactor was closed.
    #   One thread or fiber waits at a time. A kill or a cancellation there loses no turn.
    # - `wake` ends a wait, or the next one; from any thread or signal handler.
    # - `expire(queue, before)`: the tokens that are armed, and in that queue, since before that moment (Float, monotonic
    #   seconds); this call returns them. It looks at these only. There are QUEUES of them, for different times and reasons.
    #   Each `add` and `rearm` takes a new place in the queue; with `keep`, in the same queue, the old one is kept.
    # - `oldest(queue)`: since when the longest armed connection waits; nil when there is none.
    # - `size`, `close` (a waiting thread gets nil), `closed?`.
    #
    # After a fork the child's is empty, and the parent's goes on undisturbed.
    #
    # On Linux it is an epoll(7) instance in C, elsewhere its twin.
    Reactor = defined?(NativeReactor) ? NativeReactor : PureReactor
  end
end
