# frozen_string_literal: true

require "plait/io/pool"
require "plait/native"

module Plait
  class Pool
    # A connection of a pool. {Native::Lending} reads and writes its instance variables.
    class Entry
      # @return [Object]
      attr_reader :connection
      # @return [Float] monotonic seconds, when it was made
      attr_reader :made_at
      # @return [Float] monotonic seconds after which it has to be looked at before it is used again
      attr_reader :good_until
      # @return [Integer] of the process that made it, by forks
      attr_reader :generation
      # @return [Io::Pool::Claim, nil] that has it
      attr_accessor :holder

      # @param retire_at [Float] monotonic seconds
      def initialize(connection, made_at, retire_at, generation)
        @connection = connection
        @made_at = made_at
        @retire_at = retire_at
        @good_until = made_at
        @generation = generation
        @holder = nil
      end

      # @return [Boolean] whether it has lived as long as it may
      def old?(now) = now >= @retire_at

      # No claim has it from now on.
      # @param until_then [Float] monotonic seconds, when it has to be asked whether it still works
      def rest(until_then)
        @good_until = [until_then, @retire_at].min
        @holder = nil
      end
    end

    # The pool's state: idle connections, places, and the claims that wait. It neither locks nor waits nor closes anything: the
    # pool's lock is held around each call.
    #
    # The native {Pool#with} takes from `idle` and gives back to it without that lock, under Ruby's own, as long as no claim
    # waits. So a claim that begins to wait looks once more afterwards ({#admit}).
    class State
      # @return [Array<Entry>] the one used last at the end
      attr_reader :idle
      # @return [Array<Io::Pool::Claim>] that wait, the longest first
      attr_reader :waiting
      # @return [Integer] connections that exist or are being made
      attr_reader :places
      # @return [Integer] places whose connection is closed here, and not yet at its server
      attr_reader :closing

      # @param size [Integer]
      def initialize(size)
        @size = size
        @idle = []
        @waiting = []
        @places = 0
        @closing = 0
      end

      # Grants a claim an idle connection or a place for a new one, or lets it wait.
      def admit(claim)
        claim.queue
        @waiting.push(claim)
        serve
      end

      # Gives what is free to the claims that wait.
      def serve
        while (claim = @waiting.first)
          if (entry = @idle.pop) then lend(entry, claim)
          elsif @places < @size then give_place(claim)
          else return
          end
          @waiting.shift
        end
      end

      # A connection was made in the place of a claim.
      def enter(claim, entry) = lend(entry, claim)

      # The connection of a claim is of no more use: its place remains.
      def strike(claim)
        claim.entry.holder = nil
        claim.grant_place
      end

      def give_back(entry)
        @idle.push(entry)
        serve
      end

      def free_place
        @places -= 1
        serve
      end

      # @param lingers [Boolean] whether a connection keeps its place until {depart}
      def leave(lingers) = lingers ? @closing += 1 : free_place

      def depart
        @closing -= 1
        free_place
      end

      # A claim ends without a connection.
      def withdraw(claim)
        if claim.queued? then @waiting.delete(claim)
        elsif claim.place? then free_place
        end
        claim.withdraw
      end

      # @return [Array<Entry>] what was idle
      def clear
        gone = @idle.slice!(0..)
        @places -= gone.size
        serve
        gone
      end

      # @yieldparam entry [Entry] an idle one
      # @return [Array<Entry>] for which the block was true
      def expire(&block)
        gone = @idle.select(&block)
        @idle.reject! { |entry| gone.include?(entry) }
        @places -= gone.size
        serve
        gone
      end

      # No claim waits any longer.
      def refuse_all = @waiting.slice!(0..).each(&:refuse)

      private

      def lend(entry, claim)
        entry.holder = claim
        claim.grant(entry)
      end

      def give_place(claim)
        @places += 1
        claim.grant_place
      end
    end
    private_constant :Entry, :State
  end
end
