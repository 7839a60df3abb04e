# frozen_string_literal: true

module Plait
  module Mechanisms
    module State
      # Ruby's own. Fiber#storage= warns that it is experimental; entries of the current fiber can be set one by one.
      STORAGE = Fiber.method_defined?(:storage) && Fiber.instance_method(:storage).owner.equal?(Fiber)

      # What an item keeps by itself of the thread that its fiber shares with other items: thread variables, and what
      # ActiveSupport keeps by thread. {Compat::SharedThread} has Ruby look here. Fibers that the item begins have the same.
      class Own
        # In fiber storage, from Ruby 3.2 on. Before, {Compat::SharedThread} gives each Fiber an attribute.
        KEY = :plait_own

        class << self
          # @return [Own] of the current fiber, from now on
          def begin = self.current = new

          # @return [Symbol] as Ruby makes it of the name of a thread variable
          # @raise [TypeError]
          def key(name)
            return name.to_sym if name.is_a?(Symbol) || name.is_a?(String)

            raise TypeError, "#{name.inspect} is not a symbol nor a string"
          end

          # @return [Own, nil] the current item's, if this is the current thread
          def of(thread) = Thread.current.equal?(thread) ? current : nil

          if STORAGE
            # @return [Own, nil] a thread that an item begins inherits its storage, and is not shared
            def current
              own = Fiber[KEY]
              own if own&.here?
            end

            def current=(own)
              Fiber[KEY] = own
            end
          else
            def current = Fiber.current.instance_variable_get(:@plait_own)

            def current=(own)
              Fiber.current.instance_variable_set(:@plait_own, own)
            end
          end
        end

        # @return [Hash{Symbol => Object}] thread variables
        attr_reader :variables
        # @return [Hash, nil] ActiveSupport's
        attr_accessor :execution_state

        def initialize
          @thread = Thread.current
          @variables = {}
          @shared = false
        end

        # @return [Boolean] whether it is of the current thread
        def here? = @thread.equal?(Thread.current)

        # Another fiber has it, too, which may live longer than the item.
        # @return [void]
        def share = @shared = true

        # @return [Boolean] whether the next item needs a new one
        def used? = @shared || !(@variables.empty? && @execution_state.nil?)
      end
    end
  end
end
