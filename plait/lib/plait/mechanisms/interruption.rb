# frozen_string_literal: true

module Plait
  module Mechanisms
    # Ends a body from outside: raised at a point where it waits, so that its `ensure` blocks run. It is no
    # StandardError: a body's own `rescue => e` must not swallow it. It never reaches the caller, which sees a
    # {TimeoutError} or a {CancelledError} instead.
    class Interruption < Exception # rubocop:disable Lint/InheritException
      include Replaceable

      HELD = { self => :never }.freeze
      ADMITTED = { self => :immediate }.freeze

      # Interruptions of all kinds wait until the block is over, or until {admit} inside it.
      # @return [Object] the block's value
      def self.hold(&block) = Thread.handle_interrupt(HELD, &block)

      # @return [Object] the block's value
      def self.admit(&block) = Thread.handle_interrupt(ADMITTED, &block)

      def initialize(message = "the result is no longer needed") = super
    end
  end
end
