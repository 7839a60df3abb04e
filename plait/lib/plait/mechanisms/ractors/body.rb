# frozen_string_literal: true

module Plait
  module Mechanisms
    class Ractors < Mechanism
      # The user's block in a form that several ractors may call.
      #
      # `Ractor.make_shareable(block)` takes only a block whose `self` is shareable, which the main object, a controller
      # or a test is not. `Ractor.new(&block)` takes it, because there the ractor becomes `self`; but it runs the block
      # once, as the whole life of that ractor: each item would cost the start of one, and the pool could not time the block,
      # retry it or cancel it from inside. So the block is isolated by `Ractor.new`, with all its rules, and then called
      # again and again with a ractor as `self`, as it would be there.
      class Body
        # With Ractor::Error, the errors by which Ruby refuses a block.
        REFUSALS = [ArgumentError, TypeError].freeze

        class << self
          # @param block [Proc] left as it is: a copy is made shareable
          # @return [Body] shareable
          # @raise [UnshareableError] with Ruby's reason and advice
          def of(block)
            return of_method(block) unless written_in_ruby?(block)

            with_own_self(block) || with_ractor_as_self(block)
          end

          private

          def written_in_ruby?(block) = !RubyVM::InstructionSequence.of(block).nil?

          # Ruby declares any Proc shareable that isn't Ruby code, without a look inside: `&list.method(:push)` would
          # change one list from all ractors at once. (From 4.0 on only Ractor.new does; Ractor.make_shareable refuses it.)
          def of_method(block)
            raise UnshareableError, Explanation::OPAQUE_BLOCK unless of_symbol?(block) || fixed_receiver?(block)

            new(isolate(block), keep_self: true)
          end

          # No method written in C takes "one argument and more".
          def of_symbol?(block) = block.lambda? && block.arity == -2

          def fixed_receiver?(block)
            ::Ractor.shareable?(block.binding.receiver)
          rescue ArgumentError # composed or curried
            false
          end

          # The better of the two: the block keeps its `self`, and may use outer variables that hold shareable values.
          def with_own_self(block)
            new(::Ractor.make_shareable(block.dup), keep_self: true)
          rescue ::Ractor::Error, *REFUSALS => e
            raise Explanation.of_block(e) if fixed_receiver?(block)
          end

          def with_ractor_as_self(block)
            refuse_lost_variables(block)
            new(without_self(block), keep_self: false)
          rescue ::Ractor::Error, *REFUSALS => e
            raise Explanation.of_block(e)
          end

          # Ruby would let the block read them, and they would be nil, as the ractor's.
          def refuse_lost_variables(block)
            code = RubyVM::InstructionSequence.of(block).disasm
            names = code.scan(/[gs]etinstancevariable +:(@\w+)/).flatten.map(&:to_sym)
            lost = names & Kernel.instance_method(:instance_variables).bind_call(block.binding.receiver)
            raise Explanation.of_variables(lost) if lost.any?
          end

          # Ruby 4.0 has a method for it, which also takes outer variables that hold shareable values.
          def without_self(block) = ::Ractor.respond_to?(:shareable_proc) ? ::Ractor.shareable_proc(&block) : isolate(block)

          def isolate(block)
            copy = block.dup
            Quiet.start { refuse_to_start(copy) }
            copy
          end

          # A Thread can't be copied into a ractor. Ruby finds that out after it has isolated the block and before it starts
          # anything (thread_create_core in thread.c of 3.1.2, 3.3.8 and 4.0.5; 2.3 µs).
          def refuse_to_start(block)
            ::Ractor.new(Thread.current, &block)
          rescue TypeError, ::Ractor::Error
            raise unless ::Ractor.shareable?(block)
          end
        end

        # @param block [Proc] shareable
        # @param keep_self [Boolean] false: the ractor that calls is `self` in the block
        def initialize(block, keep_self:)
          @block = block
          @keep_self = keep_self
          ::Ractor.make_shareable(self)
        end

        # @param arguments [Array] of the block
        # @return [Object] the block's value
        def call(arguments) = @keep_self ? @block.call(*arguments) : ::Ractor.current.instance_exec(*arguments, &@block)
      end

      # Ruby warns at the first ractor of a process that the feature is experimental. The caller of `on: :ractors` has chosen it;
      # everything else that Ruby calls experimental is still said.
      module Quiet
        SWITCH = Thread::Mutex.new

        # @yield makes a ractor
        # @return [Object] the block's value
        def self.start
          return yield unless Warning[:experimental]

          SWITCH.synchronize do
            Warning[:experimental] = false
            yield
          ensure
            Warning[:experimental] = true
          end
        end
      end
    end
  end
end
