# frozen_string_literal: true

module Plait
  class Pool
    # A connection in the books of a pool. {Native::Lending} reads and writes its instance variables.
    class Entry
      # @return [Object]
      attr_reader :connection
      # @return [Float] monotonic seconds, when it was made
      attr_reader :made_at
      # @return [Float] monotonic seconds after which it has to be looked at before it is used again
      attr_reader :good_until
      # @return [Integer] the process that made it
      attr_reader :pid
      # @return [Object, nil] who has it, as long as somebody may ask: a claim
      attr_accessor :holder

      # @param retire_at [Float] monotonic seconds
      def initialize(connection, made_at, retire_at, pid)
        @connection = connection
        @made_at = made_at
        @retire_at = retire_at
        @good_until = made_at
        @pid = pid
        @holder = nil
      end

      # @return [Boolean] whether it has lived as long as it may
      def old?(now) = now >= @retire_at

      # Nobody has it from now on.
      # @param until_then [Float] monotonic seconds, when it has to be asked whether it still works
      def rest(until_then)
        @good_until = [until_then, @retire_at].min
        @holder = nil
      end
    end
  end
end
