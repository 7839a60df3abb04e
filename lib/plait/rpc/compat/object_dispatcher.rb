# frozen_string_literal: true

require_relative "dispatcher"
require_relative "rpc_error"
require_relative "version"
require_relative "../exposure"

module Plait
  module RPC
    module Compat
      # Calls the public methods of an object: its class's own and those it has inherited or mixed in. Not those that Ruby gives
      # to every object: msgpack-rpc lets anybody call `instance_eval`, we don't.
      class ObjectDispatcher
        include Dispatcher

        # @param object [Object]
        # @return [Array<Symbol>]
        def self.methods_of(object)
          (object.public_methods - Exposure::HOOKS).reject { |name| Exposure::ROOTS.include?(object.method(name).owner) }
        end

        # @param object [Object]
        # @param accept [Array<Symbol, String>, nil] exactly these instead
        def initialize(object, accept = nil)
          @object = object
          @accept = (accept || ObjectDispatcher.methods_of(object)).to_h { |name| [name.to_s, true] }
        end

        # @param method [String]
        # @param arguments [Array]
        # @yieldparam early [Object] a result, before the method is over
        # @return [Object]
        # @raise [NoMethodError]
        def dispatch(method, arguments, &early)
          raise NoMethodError, "method `#{method}' is not accepted" unless @accept.key?(method)

          @object.__send__(method, *arguments, &early)
        end
      end
    end
  end
end
