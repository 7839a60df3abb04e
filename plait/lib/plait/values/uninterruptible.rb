# frozen_string_literal: true

module Plait
  # Blocks that run to their end: no other thread raises into them, and no kill ends them.
  module Uninterruptible
    # A constant: a literal makes a Hash at each call, and Ruby looks for interrupts there.
    NEVER = { Object => :never }.freeze

    # @return [Object] the block's value
    def self.run(&block) = Thread.handle_interrupt(NEVER, &block)
  end
  private_constant :Uninterruptible
end
