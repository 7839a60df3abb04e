# frozen_string_literal: true

require_relative "state/copy"
require_relative "state/own"
require_relative "state/snapshot"
require_relative "../native"

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
      # What begins the names of instance variables that stay.
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

        # Removes what the last item has left. In a thread that runs one item at a time `own` is nil.
        # @param own [Own, nil] of the current fiber
        # @return [Own, nil] for the next call
        def clear(own = nil)
          left?(own) ? wipe(own) : own
        end

        # @return [Hash, nil] what items of the current fiber inherit of its storage; nil: nothing
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
        # @return [Object] what the block returns
        def apart
          bare? ? bare = true : before = Snapshot.new
          before&.lend
          yield
        ensure
          bare ? clear : before&.restore
        end

        # @return [Array<Symbol>] instance variables that are not ours
        def others(object) = object.instance_variables.reject { |name| name.start_with?(OURS) }

        private

        unless Native.available?
          def bare? = Own.current.nil? && !left?(nil)

          def left?(own)
            thread = Thread.current
            fiber = Fiber.current
            return true unless thread.keys.empty? && others(fiber).empty?
            return true if own ? own.used? : !(others(thread).empty? && no_variables?(thread))

            STORAGE && fiber.storage.to_h.size > (own ? 1 : 0)
          end
        end

        # Ruby keeps the names of those that are nil.
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

        # A thread that an item has begun has inherited the item's {Own}, which is none of its own.
        def forget_storage(own)
          Fiber.current.storage&.each_key { |name| Fiber[name] = nil unless own && name == Own::KEY }
        end
      end
    end
  end
end
