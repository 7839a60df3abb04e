# frozen_string_literal: true

require_relative "dispatcher"
require_relative "rpc_error"
require_relative "version"
require_relative "../exposure"

module Plait
  module RPC
    module Compat
      # Calls those methods of an object that a peer can call, see {Exposure}: msgpack-rpc lets peers call `instance_eval`.
      class ObjectDispatcher
        include Dispatcher

        # @param object [Object]
        # @param accept [Array<Symbol, String>, nil] exactly these instead
        def initialize(object, accept = nil)
          @object = object
          @accept = (accept || Exposure.own(object)).to_h { |name| [name.to_s, true] }
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
