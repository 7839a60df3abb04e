# frozen_string_literal: true

require "plait/io/pool/checkout"
require "plait/values/errors"

module Plait
  class Pool
    # Who has what and who waits. It neither locks nor waits nor closes anything: the pool's lock is held around each call.
    #
    # The native {Pool#with} takes from `idle` and gives back to it without that lock, under Ruby's own, whenever nobody
    # waits. So whoever begins to wait looks once more afterwards ({#admit}).
    class Books
      # @return [Array<Entry>] the one used last at the end
      attr_reader :idle
      # @return [Array<Io::Pool::Checkout>] who waits, the longest first
      attr_reader :waiting
      # @return [Integer] connections that exist or are being made
      attr_reader :places
      # @return [Integer] those of them that are closed here, and not yet at their servers
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

      # Gives what is free to those who wait.
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

      # Whatever has become of a claim that ends without a connection.
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
      # @return [Array<Entry>] those for which the block was true
      def expire(&block)
        gone = @idle.select(&block)
        @idle.reject! { |entry| gone.include?(entry) }
        @places -= gone.size
        serve
        gone
      end

      # Nobody waits any longer.
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
  end
end
