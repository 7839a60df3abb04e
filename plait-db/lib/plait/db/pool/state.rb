# frozen_string_literal: true

require "plait/io/pool"

module Plait
  class Pool
    # A connection of a pool. {Native::Lending} reads and writes its instance variables.
    class Entry
      attr_reader :connection
      # @return [Float] monotonic seconds after which it has to be checked before its next use
      attr_reader :good_until
      # @return [Integer] of the process that made it, by forks
      attr_reader :generation
      # @return [Io::Pool::Checkout, nil] its user
      attr_accessor :holder

      # @param made_at [Float] monotonic seconds
      # @param retire_at [Float] monotonic seconds
      def initialize(connection, made_at, retire_at, generation)
        @connection = connection
        @retire_at = retire_at
        @good_until = made_at
        @generation = generation
        @holder = nil
      end

      # @return [Boolean] whether it has lived as long as it may
      def old?(now) = now >= @retire_at

      # No checkout has it from now on.
      # @param until_then [Float] monotonic seconds after which it has to be checked
      def rest(until_then)
        @good_until = [until_then, @retire_at].min
        @holder = nil
      end
    end

    # The state of a pool, which has one key. The pool's lock is held around each call.
    #
    # The native {Pool#with} takes from `idle` and gives back to it without that lock, under Ruby's own, as long as no checkout
    # waits. So a checkout that begins to wait looks once more afterwards ({#admit}).
    class State < Io::Pool::KeyState
      COUNTED = { connected: 0, stale: 0, retired: 0, timeouts: 0, waits: 0, waited: 0.0, longest_wait: 0.0 }.freeze

      def initialize(size)
        super
        @entries = {}.compare_by_identity # of connections that are not closed yet: a fork has copies of them
        @closing = 0 # places of connections that are closed here, and not yet at their server
        @counts = COUNTED.dup
      end

      # @return [Array<Entry>] idle and busy ones
      def entries = @entries.keys

      # @return [Hash{Symbol => Numeric}] (see Pool#statistics)
      def report
        idle = @idle.size
        { size: @size, idle: idle, busy: @places - idle - @closing, closing: @closing, waiting: @waiting.size, **@counts }
      end

      # @param name [Symbol] see {#report}
      def count(name, by = 1) = @counts[name] += by

      # A checkout has waited.
      def waited(seconds)
        count(:waits)
        count(:waited, seconds)
        @counts[:longest_wait] = [@counts[:longest_wait], seconds].max
      end

      # Grants a checkout an idle connection or a place, or lets it wait.
      def admit(checkout)
        queue(checkout)
        serve
      end

      # A connection was made in the place of a checkout.
      def enter(checkout, entry)
        count(:connected)
        @entries[entry] = true
        lend(entry, checkout)
      end

      # The connection of a checkout can't be used again: its place remains.
      # @param reason [Symbol] what is counted
      def strike(checkout, reason)
        count(reason)
        @entries.delete(checkout.entry)
        checkout.entry.holder = nil
        checkout.grant_place
      end

      def give_back(entry)
        @idle.push(entry)
        serve
      end

      # @param lingers [Boolean] whether a connection keeps its place until {depart} or {come_back}
      def leave(entry, lingers)
        @entries.delete(entry)
        lingers ? @closing += 1 : free_places
      end

      def depart
        @closing -= 1
        free_places
      end

      # After {leave}, as good as new.
      def come_back(entry)
        @closing -= 1
        @entries[entry] = true
        give_back(entry)
      end

      # A checkout ends without a connection.
      def withdraw(checkout)
        if checkout.queued? then @waiting.delete(checkout)
        elsif checkout.place? then free_places
        end
        checkout.withdraw
      end

      # @param reason [Symbol, nil] what is counted
      # @yieldparam entry [Entry] an idle one
      # @return [Array<Entry>] for which the block was true
      def expire(reason = nil, &block)
        gone = @idle.select(&block).select { |entry| @idle.delete(entry) } # without it the native `with` has just taken it
        gone.each { |entry| @entries.delete(entry) }
        count(reason, gone.size) if reason
        free_places(gone.size)
        gone
      end

      private

      def free_places(count = 1)
        leave_places(count)
        serve
      end

      # Gives idle connections and free places to waiting checkouts.
      def serve
        while (checkout = first_waiting)
          if (entry = @idle.pop) then lend(entry, checkout)
          elsif room? then give_place(checkout)
          else return
          end
          @waiting.delete(checkout)
        end
      end

      def lend(entry, checkout)
        entry.holder = checkout
        checkout.grant(entry)
      end
    end
    private_constant :Entry, :State
  end
end
