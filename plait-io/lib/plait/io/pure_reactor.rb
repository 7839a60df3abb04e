# frozen_string_literal: true

require_relative "readiness"
require_relative "pure_reactor/register"

module Plait
  module Io
    # The reactor where there is no epoll or no extension, by IO.select: each wait looks at all of them. See {Reactor}.
    class PureReactor
      # As IO::READABLE and IO::WRITABLE.
      READABLE = 1
      WRITABLE = 4
      INTERESTS = [READABLE, WRITABLE, READABLE | WRITABLE].freeze
      QUEUES = 4
      # Tokens told at once.
      BATCH = 64

      def initialize
        @lock = Mutex.new
        start
      end

      # @return [self]
      # @raise [IOError]
      def add(io, token, interest = READABLE, queue = 0)
        check(interest, queue)
        raw = raw_of(io)
        change { @register.add(raw, token, interest, queue) }
      end

      # @return [self]
      # @raise [ArgumentError] when it was never added
      # @raise [IOError]
      def rearm(io, interest = READABLE, queue = 0, keep = false) # rubocop:disable Style/OptionalBooleanParameter -- as in C
        check(interest, queue)
        raw = raw_of(io)
        change do
          @register.rearm(raw, interest, queue, keep) or raise ArgumentError, "it was never added to this reactor"
        end
      end

      # @return [Boolean]
      # @raise [IOError]
      def remove(io)
        raw = raw_of(io)
        known = false
        change { known = @register.remove(raw) } unless closed?
        known
      end

      # @return [Array, nil]
      def wait(deadline = nil)
        attend do
          until @closed
            look(0)
            tokens = synchronize { @register.take(BATCH) }
            return tokens if tokens.any? || woken? || deadline&.expired?

            look(deadline&.remaining)
          end
        end
      end

      # @return [nil]
      def wake
        settle_in
        @woken = true
        ring
      end

      # @return [Integer]
      def size = synchronize { @register.size }

      # @return [Array]
      def expire(queue, before)
        check(READABLE, queue)
        synchronize { @register.expire(queue, before) }
      end

      # @return [Float, nil]
      def oldest(queue)
        check(READABLE, queue)
        synchronize { @register.oldest(queue) }
      end

      # @return [nil]
      def close
        settle_in
        @closed = true
        ring
        release if @waiters.zero?
      end

      # @return [Boolean]
      def closed? = @closed

      private

      def start
        @pid = Process.pid
        @closed = false
        @woken = false
        @waiters = 0
        @register = Register.new(QUEUES)
        @bell = IO.pipe
      end

      # The child of a fork begins with nobody, and without a hand on the bell that it shares with its parent.
      def settle_in
        return if @pid == Process.pid || @closed

        @lock = Mutex.new
        @bell.each(&:close)
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

      # Who waits looks at those who were there when he began.
      def change(&block)
        raise IOError, "the reactor is closed" if @closed

        synchronize(&block)
        ring if @waiters.positive?
        self
      end

      # Who waits keeps the pipe.
      def attend
        settle_in
        @waiters += 1
        yield
      ensure
        @waiters -= 1
        release if @closed && @waiters.zero?
      end

      def woken? = @woken.tap { @woken = false }

      # Notes those that are ready.
      def look(seconds)
        readables, writables = synchronize { @register.awaited }
        ready = Readiness.either([@bell.first, *readables], writables, seconds)
        silence if ready.first.delete(@bell.first)
        synchronize { @register.note(ready.first | ready.last) }
      rescue IOError, Errno::EBADF
        nil # one was closed meanwhile: it is no longer among the next ones
      end

      def ring
        @bell.last.write_nonblock(".", exception: false)
        nil
      rescue IOError, SystemCallError
        nil # nobody waits any more
      end

      def silence = @bell.first.read_nonblock(4096, exception: false)

      # The end that nobody waits for first: who is waited for may be left early while it is closed.
      def release
        @bell.reverse_each(&:close)
        @register = Register.new(QUEUES)
        nil
      end
    end
  end
end
