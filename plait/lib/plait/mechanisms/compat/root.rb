# frozen_string_literal: true

module Plait
  module Mechanisms
    module Compat
      # Which fiber is the one that its thread began with.
      module Root
        # What Ruby 3.1 to 4.0 say of a fiber. Where another one says it differently, none passes for its thread's first: a
        # run then brings a loop along in a thread of its own.
        WITHOUT_LINE = /\A#<Fiber:0x\h+ \(\w+\)>\z/
        RESUMING = "resuming fiber"
        private_constant :WITHOUT_LINE, :RESUMING

        class << self
          # @return [Boolean] whether the current fiber is the one that its thread began with
          def current?
            fiber = Fiber.current
            thread = Thread.current
            return true if fiber.equal?(thread.instance_variable_get(:@plait_root))

            began_with?(fiber) && thread.instance_variable_set(:@plait_root, fiber) && true
          end

          private

          # Ruby can't be asked. It says a fiber's source line, but has none for those made from its own functions (the fibers
          # of Enumerators), and it says of those alone that they were resumed.
          def began_with?(fiber)
            return false unless fiber.blocking? && WITHOUT_LINE.match?(fiber.inspect)

            Fiber.new(blocking: true) { fiber.resume }.resume
            false
          rescue FiberError => e
            e.message.include?(RESUMING)
          end
        end
      end
    end
  end
end
