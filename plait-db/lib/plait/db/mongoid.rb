# frozen_string_literal: true

require "plait/values"
require_relative "errors"
require_relative "driver"
require_relative "mongo"

Plait::DB::Driver.load("mongoid", ">= 9.0", "< 10") { require "mongoid" }

module Plait
  module DB
    # `require "plait/db/mongoid"`, before `Mongoid.load!`: models work as ever under `on: :fibers` and `:hybrid`.
    #
    # - Its state (scopes, sessions, `with`) is kept by fiber. By thread, as Mongoid has it, all fibers would share a scope.
    #   Mongoid's own `isolation_level = :fiber` needs Ruby 3.2. On 3.1 Plait keeps that state itself, and a fiber that a model's
    #   callback starts does not inherit it: `around_callbacks_for_embeds` is refused there. Another level is refused.
    # - A connection that was cut in the middle of a call is closed, as with {Mongo}.
    #
    # The driver's pool (`max_pool_size` in mongoid.yml) is the limit, however many fibers there are.
    module Mongoid
      # Refuses a level that would give wrong answers.
      # @api private
      module Isolation
        # @raise [UsageError]
        def isolation_level=(level)
          raise UsageError, "Mongoid's isolation_level must stay :fiber, or fibers get each other's scopes" unless level == :fiber

          super if Mongoid.supported?
        end
      end

      # For Ruby 3.1, where a fiber inherits no storage.
      # @api private
      module Storage
        def reset! = Thread.current[::Mongoid::Threaded::STORAGE_KEY] = nil

        private

        def storage = Thread.current[::Mongoid::Threaded::STORAGE_KEY] ||= {}
      end

      # Goes with {Storage}.
      # @api private
      module NoCallbackFibers
        # @raise [UsageError]
        def around_callbacks_for_embeds=(wanted)
          if wanted
            raise UsageError, "around_callbacks_for_embeds runs callbacks in fibers of their own, which have no state of " \
                              "Mongoid before Ruby 3.2"
          end
          super
        end
      end

      private_constant :Isolation, :Storage, :NoCallbackFibers

      class << self
        # @return [Boolean] whether Mongoid itself can keep its state by fiber
        def supported? = Fiber.respond_to?(:[])

        # @raise [UsageError]
        def install
          config = ::Mongoid::Config
          config.singleton_class.prepend(Isolation)
          install_storage(config) unless supported?
          config.isolation_level = :fiber
        end

        private

        def install_storage(config)
          config.singleton_class.prepend(NoCallbackFibers)
          config.around_callbacks_for_embeds = true if config.around_callbacks_for_embeds # which is refused
          ::Mongoid::Threaded.singleton_class.prepend(Storage)
        end
      end

      install
    end
  end
end
