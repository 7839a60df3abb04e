# frozen_string_literal: true

require_relative "checkout"

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

        def initialize(limits)
          @limits = limits
          @keys = {}
          @order = {}.compare_by_identity # idle entries, the oldest first
          @busy = {}.compare_by_identity
          @spare = {}.compare_by_identity # busy entries that others may have, the oldest first
          @ripe = {} # keys that may have one more connection, where only the pool as a whole has no room; they take turns
          @total = 0
          @number = 0
          @look_at = 0
          @counted = Hash.new(0)
        end

        # @return [Array<Object>] connections
        def idle = @order.keys.map(&:connection)

        # @return [Array<Object>] connections
        def busy = @busy.keys

        def reused?(connection) = (@busy[connection]&.uses || 0) > 1

        # @return [Integer] places of a key that are taken
        def places(name) = @keys[name]&.places || 0

        # @return [Integer] places that are taken
        attr_reader :total

        # Grants a checkout an idle connection or a place, or puts it into the queue.
        # @return [Array<Object>] connections to close
        def admit(checkout)
          closing = expired
          return closing.tap { checkout.refuse } if @closed

          key = key_of(checkout)
          take_spare(key) if @spare.any? && key.idle.empty?
          if (entry = key.idle.last) then lend(leave_idle(entry), checkout)
          elsif !key.room? then queue(checkout, key)
          elsif full? then return closing + wait_or_evict(checkout, key)
          else give_place(checkout, key)
          end
          closing
        end

        # A connection was made in the place of a checkout.
        def enter(checkout, connection)
          count(:connected)
          lend(Entry.new(connection, key_of(checkout), 0, nil), checkout)
        end

        # The connection of a checkout is stale: another idle one follows, or its place remains.
        # @param renew [Boolean] whether only a place will do
        def strike_stale(checkout, renew)
          count(:stale)
          key = @busy.delete(checkout.connection).key
          return checkout.grant_place if renew || key.idle.empty?

          lend(leave_idle(key.idle.last), checkout)
          free_place(key)
        end

        # A busy connection is not needed any longer.
        # @return [Array<Object>] connections to close
        def give_back(connection)
          entry = @busy.delete(connection) or raise UsageError, "this connection is not checked out: was it brought back twice?"
          return close_given(entry) if @closed || useless?(connection)
          return close_given(entry).tap { count(:evicted) } if another_first?(entry.key)

          entry.idle_since = Deadline.now
          checkout = shift(entry.key)
          checkout ? lend(entry, checkout) : rest(entry)
          @order.size > @limits.max_idle ? expired + surplus : expired
        end

        # A busy connection is not needed for now.
        # @return [Array<Object>] connections to close
        def spare(connection)
          entry = @busy[connection] or return NONE
          return give_back(connection) if entry.key.first_waiting || another_first?(entry.key)

          entry.idle_since = Deadline.now
          @spare[entry] = true
          NONE
        end

        # @return [Boolean] whether it is busy as before
        def reclaim(connection) = !@spare.delete(@busy[connection]).nil?

        # A busy connection is to be closed.
        # @return [Boolean] whether it was busy
        def strike(connection, reason = :discarded)
          entry = @busy.delete(connection) or return false
          @spare.delete(entry)
          count(reason)
          free_place(entry.key)
          true
        end

        # A checkout is broken off, at any stage.
        # @return [Array<Object>] connections to close
        def settle(checkout)
          connection = checkout.connection
          return withdraw(checkout) unless connection

          strike(connection) ? [connection] : NONE
        end

        # @return [Array<Object>] connections to close
        def expired
          return NONE unless @limits.idle_timeout && (now = Deadline.now) >= @look_at

          overdue = ->(entry) { now - entry.idle_since >= @limits.idle_timeout }
          dropped = drop(:expired, &overdue) + drop_spares(&overdue)
          oldest = [@order, @spare].filter_map { |entries| entries.each_key.first&.idle_since }.min
          @look_at = (oldest || now) + @limits.idle_timeout
          dropped
        end

        # @return [Array<Object>] connections to close
        def surplus = drop(:evicted) { @order.size > @limits.max_idle }

        # @return [Array<Object>] connections to close
        def clear = drop(:cleared) { true }

        # @return [Array<Object>] connections to close
        def close
          @closed = true
          @keys.each_value(&:refuse_all)
          @ripe.clear
          clear
        end

        # @param name [Symbol] see {#statistics}
        def count(name, by = 1) = @counted[name] += by

        def limit(**changes)
          changes.each { |name, value| @limits[name] = value }
          @keys.each_value { |key| key.size = @limits.per_key }
          @look_at = 0
        end

        def statistics(names)
          counted = names.to_h { |name| [name, @counted.fetch(name, 0)] }
          { idle: @order.size, busy: @busy.size, waiting: @keys.sum { |_, key| key.waiting.size }, **counted }
        end

        private

        def withdraw(checkout)
          key = key_of(checkout)
          if checkout.queued? then leave_queue(checkout, key)
          elsif checkout.place? then free_place(key)
          end
          forget(key)
          checkout.withdraw
          NONE
        end

        def key_of(checkout) = @keys[checkout.key] ||= KeyState.new(@limits.per_key, checkout.key)

        def full? = @total >= @limits.max

        def queue(checkout, key)
          count(:waited)
          checkout.number = (@number += 1)
          key.queue(checkout)
        end

        # @return [Checkout, nil] the one that has waited longest for this key
        def shift(key) = key.first_waiting&.tap { |checkout| leave_queue(checkout, key) }

        def leave_queue(checkout, key)
          key.waiting.delete(checkout)
          @ripe.delete(key) if key.waiting.empty?
        end

        # @return [Boolean] whether a checkout that waits for room in the pool came before all that wait for this key
        def another_first?(key)
          return false if @ripe.empty?

          own = key.first_waiting
          own.nil? || @ripe.first.first.first_waiting.number < own.number
        end

        # The key may have one more connection.
        def ripen(key) = key.waiting.empty? || @ripe[key] = true

        def useless?(connection) = connection.respond_to?(:closed?) && connection.closed?

        def wait_or_evict(checkout, key)
          if @order.empty?
            queue(checkout, key)
            ripen(key)
            return NONE
          end

          count(:evicted)
          evicted = remove_oldest.connection
          give_place(checkout, key)
          [evicted]
        end

        def give_place(checkout, key)
          @total += 1
          key.give_place(checkout)
        end

        def lend(entry, checkout)
          entry.uses += 1
          count(:reused) if entry.uses > 1
          @busy[entry.connection] = entry
          checkout.grant(entry)
        end

        def rest(entry)
          entry.key.idle << entry
          @order[entry] = true
        end

        def close_given(entry)
          free_place(entry.key)
          [entry.connection]
        end

        # Where there is no room, a spared connection becomes idle.
        def take_spare(key)
          return if key.room? && !(full? && @order.empty?)

          entry = @spare.each_key.find { |one| key.room? || one.key.equal?(key) } or return
          @spare.delete(entry)
          @busy.delete(entry.connection)
          rest(entry)
        end

        # It is the newest of its key, or the oldest of all and so of its key.
        def leave_idle(entry)
          entries = entry.key.idle
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

        def drop_spares(&overdue)
          @spare.keys.select(&overdue).map(&:connection).each { |connection| strike(connection, :expired) }
        end

        def forget(key) = key.unused? && @keys.delete(key.name)

        def free_place(key)
          @total -= 1
          key.leave_places
          ripen(key)
          while !full? && (ripe = @ripe.shift&.first)
            give_place(shift(ripe), ripe)
            ripen(ripe) if ripe.room?
          end
          forget(key)
        end
      end

      # How many connections, and for how long.
      Limits = Struct.new(:per_key, :max, :idle_timeout, :max_idle) do
        # Half of the descriptors that this process may open: the other half is for other uses.
        def self.half_of_all
          soft, = Process.getrlimit(:NOFILE)
          soft.between?(2, 1 << 30) ? soft / 2 : 1 << 30
        rescue NotImplementedError, SystemCallError
          512 # of 1,024, as nearly everywhere
        end
      end

      # A connection of the pool: the state of its key, how often it was checked out, since when it is idle (monotonic seconds).
      Entry = Struct.new(:connection, :key, :uses, :idle_since)
    end
  end
end
