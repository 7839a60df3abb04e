# frozen_string_literal: true

module Plait
  module Patches
    # Asks in C whether a patch has anything to do, before it begins: elsewhere the method costs what Ruby's own does, and
    # a few nanoseconds.
    module Gate
      # @param patches [Module] whose methods are patches
      # @param names [Array<Symbol>] of the methods
      # @param only [Symbol] where they act: in :fibers of ours; there and for enumerators with :cursors of ours; while
      #   :loops of ours turn; for :items with a state of their own
      def self.before(patches, *names, only: :fibers)
        names.each { |name| NativeGate.before(patches, name, only) } if defined?(NativeGate)
      end

      # @param number [Integer] that turn
      def self.loops=(number)
        NativeGate.loops = number if defined?(NativeGate)
      end
    end
  end
end
