# frozen_string_literal: true

require_relative "checkout"
require "plait/values/deadline"
require "plait/values/errors"

module Plait
  module Io
    class Pool
      # The state of a pool: idle and busy connections, and waiting checkouts. It neither locks nor waits nor closes; it returns
      # the connections to close.
      #
      # Each connection, idle or busy or about to be made, holds a place; `max` places in all, `per_key` for a key. While a
      # key has an idle connection no checkout of it waits; while any connection is idle none waits for a place in all.
      class State
        NONE = [].freeze
        private_constant :NONE

        # @param limits [Limits]
        def initialize(limits)
          @limits = limits
          @idle = {}
          @order = {}.compare_by_identity # idle entries, the oldest first
          @busy = {}.compare_by_identity
          @places = Hash.new(0)
          @total = 0
          @queues = Queues.new
          @look_at = 0
          @counted = Hash.new(0)
        end

        # @return [Array<Object>] connections
        def idle = @order.keys.map(&:connection)

        # @return [Array<Object>] connections
        def busy = @busy.keys

        # @return [Boolean]
        def reused?(connection) = (@busy[connection]&.uses || 0) > 1

        # @return [Integer] places of a key that are taken
        def places(key) = @places.fetch(key, 0)

        # @return [Integer] places that are taken
        attr_reader :total

        # Grants a checkout an idle connection or a place, or puts it into the queue.
        # @return [Array<Object>] connections to close
        def admit(checkout)
          closing = expired
          return closing.tap { checkout.refuse } if @closed

          entry = @idle[checkout.key]&.last
          if entry then lend(leave_idle(entry), checkout)
          elsif !room_for?(checkout.key) then @queues.push(checkout)
          elsif full? then return closing + wait_or_evict(checkout)
          else give_place(checkout)
          end
          closing
        end

        # A connection was made in the place of a checkout.
        # @return [void]
        def enter(checkout, connection)
          count(:connected)
          lend(Entry.new(connection, checkout.key, 0, nil), checkout)
        end

        # The connection of a checkout is stale: its place remains.
        # @return [void]
        def strike_stale(checkout)
          count(:stale)
          @busy.delete(checkout.connection)
          checkout.grant_place
        end

        # A busy connection is not needed any longer.
        # @return [Array<Object>] connections to close
        # @raise [UsageError]
        def give_back(connection)
          entry = @busy.delete(connection) or raise UsageError, "this connection is not checked out: was it brought back twice?"
          return close_given(entry) if @closed || useless?(connection) || @queues.another_first?(entry.key)

          checkout = @queues.shift(entry.key)
          checkout ? lend(rested(entry), checkout) : rest(entry)
          @order.size > @limits.max_idle ? expired + surplus : expired
        end

        # A busy connection is to be closed.
        # @return [Boolean] whether it was busy
        def strike(connection)
          entry = @busy.delete(connection) or return false
          free_place(entry.key)
          true
        end

        # A checkout is over, at any stage.
        # @param keep [Boolean] whether its connection may be used again
        # @return [Array<Object>] connections to close
        def settle(checkout, keep:)
          connection = checkout.connection
          return withdraw(checkout) unless connection
          return NONE unless @busy.key?(connection) # it was brought back before

          keep ? give_back(connection) : [connection].tap { strike(connection) }
        end

        # @return [Array<Object>] connections to close
        def expired
          return NONE unless @limits.idle_timeout && (now = Deadline.now) >= @look_at

          dropped = drop(:expired) { |entry| now - entry.idle_since >= @limits.idle_timeout }
          @look_at = (@order.first&.first&.idle_since || now) + @limits.idle_timeout
          dropped
        end

        # @return [Array<Object>] connections to close
        def surplus = drop(:evicted) { @order.size > @limits.max_idle }

        # @return [Array<Object>] connections to close
        def clear = drop(:cleared) { true }

        # @return [Array<Object>] connections to close
        def close
          @closed = true
          @queues.drain.each(&:refuse)
          clear
        end

        # @param what [Symbol] see {#statistics}
        def count(what, by = 1) = @counted[what] += by

        # @return [Hash{Symbol => Integer}]
        def statistics
          counted = %i[connected reused stale expired evicted timeouts].to_h { |what| [what, @counted.fetch(what, 0)] }
          { idle: @order.size, busy: @busy.size, waiting: @queues.size, **counted }
        end

        private

        def withdraw(checkout)
          if checkout.queued? then @queues.delete(checkout)
          elsif checkout.place? then free_place(checkout.key)
          end
          checkout.withdraw
          NONE
        end

        def full? = @total >= @limits.max

        def room_for?(key) = places(key) < @limits.per_key

        def useless?(connection) = connection.respond_to?(:closed?) && connection.closed?

        def wait_or_evict(checkout)
          return NONE.tap { @queues.push(checkout, ripe: true) } if @order.empty?

          count(:evicted)
          evicted = remove_oldest.connection
          give_place(checkout)
          [evicted]
        end

        def give_place(checkout)
          @places[checkout.key] += 1
          @total += 1
          checkout.grant_place
        end

        def lend(entry, checkout)
          entry.uses += 1
          count(:reused) if entry.uses > 1
          @busy[entry.connection] = entry
          checkout.grant(entry)
        end

        def rested(entry) = entry.tap { entry.idle_since = Deadline.now }

        def rest(entry)
          (@idle[entry.key] ||= []) << rested(entry)
          @order[entry] = true
        end

        def close_given(entry)
          free_place(entry.key)
          [entry.connection]
        end

        # It is the newest of its key, or the oldest of all and so of its key.
        def leave_idle(entry)
          entries = @idle[entry.key]
          entries.last.equal?(entry) ? entries.pop : entries.shift
          @order.delete(entry)
          entry
        end

        def remove_oldest
          entry = leave_idle(@order.first.first)
          free_place(entry.key)
          entry
        end

        # From the oldest on.
        def drop(reason)
          dropped = []
          while (entry = @order.first&.first) && yield(entry)
            dropped << remove_oldest.connection
          end
          count(reason, dropped.size) unless dropped.empty?
          dropped
        end

        def forget(key)
          @places.delete(key)
          @idle.delete(key)
        end

        def free_place(key)
          @total -= 1
          forget(key) if (@places[key] -= 1).zero?
          @queues.ripen(key)
          while !full? && (checkout = @queues.shift_ripe)
            give_place(checkout)
            @queues.ripen(checkout.key) if places(checkout.key) < @limits.per_key
          end
        end
      end

      # How many connections, and for how long.
      Limits = Struct.new(:per_key, :max, :idle_timeout, :max_idle) do
        # Half of the descriptors that this process may open: the other half is for other uses.
        # @return [Integer]
        def self.half_of_all
          soft, = Process.getrlimit(:NOFILE)
          soft.between?(2, 1 << 30) ? soft / 2 : 1 << 30
        rescue NotImplementedError, SystemCallError
          512 # of 1,024, as nearly everywhere
        end
      end

      # A connection of the pool: its key, how often it was checked out, since when it is idle (monotonic seconds).
      Entry = Struct.new(:connection, :key, :uses, :idle_since)
      private_constant :State, :Entry
    end
  end
end
