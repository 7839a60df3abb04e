# frozen_string_literal: true

require_relative "../async_result"
require_relative "../version"
require_relative "../../callable"
require_relative "../../error_format"
require_relative "../../handler"
require_relative "../session_pool"

module Plait
  module RPC
    module Compat
      class Server < SessionPool
        # Has every call dispatched, and tells an error by its message.
        class Answers < Handler
          # Methods whose pace is remembered.
          KNOWN = 256

          # Any method, of any number of arguments.
          class Call < Callable
            # @param name [String]
            # @param dispatcher [#dispatch]
            def initialize(name, dispatcher)
              super(name, dispatcher, :dispatch, [])
              @dispatcher = dispatcher
            end

            # @return [nil] what is wrong, the method itself says
            def refusal(_arguments) = nil

            # @return [Object]
            def call(arguments, _incoming = nil)
              later = nil
              value = @dispatcher.dispatch(name, arguments) { |early| early.is_a?(AsyncResult) ? later = early : yield(early) }
              later || value
            end
          end
          private_constant :Call

          # @param dispatcher [#dispatch]
          def initialize(dispatcher)
            super(dispatcher, methods: [:dispatch], errors: ->(error) { [ErrorFormat.message(error), nil] })
            @dispatcher = dispatcher
            @calls = {}
          end

          # @return [Callable]
          def find(name)
            @calls[name] || Call.new(name, @dispatcher).tap { |call| @calls[name] = call if @calls.size < KNOWN }
          end
        end
      end
    end
  end
end
