# frozen_string_literal: true

module Plait
  module Mechanisms
    # What code keeps at the current thread and fiber: fiber locals, thread variables, fiber storage (Ruby 3.2 and later), and
    # instance variables of the two objects, where ActiveSupport keeps the state of a request. A worker runs many items, tasks
    # and requests: each finds nothing of an earlier one.
    #
    # A worker calls {clear} after each item, and {begin_fiber} before the first if it shares its thread.
    module State
      # Where the gem fiber-storage keeps the same on Ruby 3.1.
      STORAGE_OF_GEM = :@storage
      # Prefix of the instance variables that stay.
      OURS = "@plait_"

      extend NativeState if Native.available?

      class << self
        # The current fiber becomes a worker that shares its thread with other fibers.
        # @return [Own] for {clear}
        def begin_fiber
          own = Own.begin
          return own.tap { forget_storage(own) } if STORAGE

          fiber = Fiber.current
          fiber.remove_instance_variable(STORAGE_OF_GEM) if fiber.instance_variable_defined?(STORAGE_OF_GEM)
          own
        end

        # Removes the state that the last item has left. In a thread that runs one item at a time `own` is nil.
        # @param own [Own, nil] of the current fiber
        # @return [Own, nil] for the next call
        def clear(own = nil) = left?(own) ? wipe(own) : own

        # @return [Hash, nil] entries of the current fiber's storage that its items inherit; nil: none
        def storage
          return unless Fiber.respond_to?(:[])

          fiber = Fiber.current
          entries = STORAGE ? fiber.storage&.except(Own::KEY) : fiber.instance_variable_get(STORAGE_OF_GEM).dup
          entries unless entries.nil? || entries.empty?
        end

        # Gives the current item copies of these entries.
        # @param storage [Hash, nil] see {storage}
        def inherit(storage) = storage&.each { |name, value| Fiber[name] = Copy.of(value) }

        # Runs an item in the fiber of its caller, whose state is the same afterwards.
        # @return [Object] the block's value
        def isolate
          bare? ? bare = true : before = Snapshot.new
          before&.lend
          yield
        ensure
          bare ? clear : before&.restore
        end

        # @return [Array<Symbol>] instance variables that are not ours
        def others(object) = object.instance_variables.reject { |name| name.start_with?(OURS) }

        unless Native.available?
          # @param own [Own, nil] of the current fiber
          # @return [Boolean] whether an item has left something
          def left?(own)
            thread = Thread.current
            fiber = Fiber.current
            return true unless thread.keys.empty? && others(fiber).empty?
            return true if own ? own.used? : !(others(thread).empty? && no_variables?(thread))

            STORAGE && fiber.storage.to_h.size > (own ? 1 : 0)
          end
        end

        private

        unless Native.available?
          def bare? = Own.current.nil? && !left?(nil)
        end

        # Ruby keeps the names of variables that are nil.
        def no_variables?(thread) = thread.thread_variables.all? { |name| thread.thread_variable_get(name).nil? }

        def wipe(own)
          thread = Thread.current
          thread.keys.each { |name| thread[name] = nil }
          forget_variables(Fiber.current)
          forget_storage(own) if STORAGE
          return (own.used? ? Own.begin : own) if own

          forget_variables(thread)
          thread.thread_variables.each { |name| thread.thread_variable_set(name, nil) }
          nil
        end

        def forget_variables(object) = others(object).each { |name| object.remove_instance_variable(name) }

        # A thread that an item has started has inherited the item's {Own}, which is none of its own.
        def forget_storage(own)
          Fiber.current.storage&.each_key { |name| Fiber[name] = nil unless own && name == Own::KEY }
        end
      end

      # Ruby's own. Fiber#storage= warns that it is experimental; entries of the current fiber can be set one by one.
      STORAGE = Fiber.method_defined?(:storage) && Fiber.instance_method(:storage).owner.equal?(Fiber)

      # What an item keeps by itself of the thread that its fiber shares with other items: thread variables, and what
      # ActiveSupport keeps by thread. {Patches::ThreadPatches::SharedThread} has Ruby look here. Fibers that the item begins have
      # the same.
      class Own
        # In fiber storage, from Ruby 3.2 on. Before, {Patches::ThreadPatches::SharedThread} gives each Fiber an attribute.
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
        # @return [Fiber, nil] of the item, while it is a unit of work to Rails: ActiveRecord's name for the user of a connection
        attr_reader :unit

        def initialize
          @thread = Thread.current
          @variables = {}
          @shared = false
        end

        # @return [Boolean] whether it is of the current thread
        def here? = @thread.equal?(Thread.current)

        def begin_unit = @unit = Fiber.current

        def end_unit = @unit = nil

        # Another fiber has it, too, which may live longer than the item.
        def share = @shared = true

        # @return [Boolean] whether the next item needs a new one
        def used? = @shared || !(@variables.empty? && @execution_state.nil?)
      end

      # The state of the current fiber and its thread, before an item that runs in the fiber of its caller. The item has the
      # caller's, so that a transaction of the caller includes it.
      class Snapshot
        def initialize
          @thread = Thread.current
          @fiber = Fiber.current
          @own = Own.current
          @execution_state = @own&.execution_state
          @locals = locals
          @variables = variables
          @of_thread = attributes(@thread)
          @of_fiber = attributes(@fiber)
          @storage = storage if STORAGE
        end

        # Gives the item copies of values that it could change in place.
        def lend
          @own&.execution_state = Copy.of(@execution_state)
          copies(@locals) { |name, value| @thread[name] = value }
          copies(@variables) { |name, value| @thread.thread_variable_set(name, value) }
          copies(@of_thread) { |name, value| assign(@thread, name, value) }
          copies(@of_fiber) { |name, value| assign(@fiber, name, value) }
          copies(@storage) { |name, value| Fiber[name] = value } if STORAGE
        end

        # An interrupt in the middle would lose a part of it.
        def restore
          Uninterruptible.run do
            @own&.execution_state = @execution_state
            undo(@locals, locals) { |name, value| @thread[name] = value }
            undo(@variables, variables) { |name, value| @thread.thread_variable_set(name, value) }
            undo(@of_thread, attributes(@thread)) { |name, value| assign(@thread, name, value) }
            undo(@of_fiber, attributes(@fiber)) { |name, value| assign(@fiber, name, value) }
            undo(@storage, storage) { |name, value| Fiber[name] = value } if STORAGE
          end
        end

        private

        def locals = @thread.keys.to_h { |name| [name, @thread[name]] }

        def variables = @thread.thread_variables.to_h { |name| [name, @thread.thread_variable_get(name)] }

        def attributes(object) = State.others(object).to_h { |name| [name, object.instance_variable_get(name)] }

        def storage = State.storage || {}

        # @yieldparam name [Symbol] of a value that has a copy
        # @yieldparam value [Object, nil] the copy
        def copies(before)
          before.each do |name, value|
            copy = Copy.of(value)
            yield name, copy unless copy.equal?(value)
          end
        end

        # @yieldparam name [Symbol] of a value that has changed
        # @yieldparam value [Object, nil] nil: there was none
        def undo(before, now)
          return if before.empty? && now.empty?

          (before.keys | now.keys).each { |name| yield name, before[name] unless before[name].equal?(now[name]) }
        end

        def assign(object, name, value)
          value.nil? ? object.remove_instance_variable(name) : object.instance_variable_set(name, value)
        end
      end

      # Copies of values that an item could change in place, so that neither the next item nor the caller sees the change:
      # Strings, collections with what they hold, and the configuration where I18n keeps the locale. Other objects stay the
      # caller's: a copy of a connection would be a second owner of its socket.
      module Copy
        # The collections in a collection; a higher number costs each item more time.
        DEPTH = 2
        # Where ActiveSupport keeps CurrentAttributes up to 8.0; they start empty.
        CURRENT_ATTRIBUTES = :current_attributes_instances

        class << self
          # @return [Object] the value itself if it can't change or is no holder of state
          def of(value, depth = DEPTH)
            return value if value.frozen? || depth.zero?

            case value
            when Hash then of_hash(value, depth)
            when Array then value.dup.map! { |held| of(held, depth - 1) }
            when String then value.dup
            else of_object(value, depth)
            end
          end

          private

          def of_hash(hash, depth)
            copy = hash.dup
            copy.delete(CURRENT_ATTRIBUTES)
            copy.transform_values! { |held| of(held, depth - 1) }
          end

          def of_object(value, depth)
            return of_context(value, depth) if defined?(::ActiveSupport::ExecutionContext::Record) &&
                                               value.is_a?(::ActiveSupport::ExecutionContext::Record)

            set?(value) || i18n?(value) ? value.dup : value
          end

          # ActiveSupport 8.1 keeps CurrentAttributes in here.
          def of_context(context, depth)
            context.class.new.tap { |copy| copy.instance_variable_set(:@store, of(context.store, depth)) }
          end

          def set?(value) = defined?(::Set) && value.is_a?(::Set)

          def i18n?(value) = defined?(::I18n::Config) && value.is_a?(::I18n::Config)
        end
      end

      private_constant :Snapshot, :Copy
    end
  end
end
