# frozen_string_literal: true

require_relative "rpc_error"
require_relative "version"
require "plait/values/errors"

module Plait
  module RPC
    module Compat
      # The answer to a call, which may not be there yet.
      class Future
        # @return [Loop]
        attr_reader :loop

        # @param loop [Loop]
        # @param call [RPC::Future, Exception] the exception: there was no call
        # @api private
        def initialize(loop, call)
          @loop = loop
          @call = call
          @lock = Mutex.new
        end

        # Waits for the answer.
        # @return [Object] the result
        # @raise [RPCError]
        def get
          join
          return @result_handler ? @result_handler.call(@result) : @result if @error.nil?
          raise RuntimeError.new(@error), cause: @cause if @result.nil?

          @error_handler&.call(@error, @result)
          raise RPCError.create(@error, @result), cause: @cause
        end

        # Waits for the answer, and has the callbacks called whose turn it is.
        # @return [self]
        def join
          @loop.start_servers
          settle unless @set
          call_back
          @loop.call_due
          self
        end

        # @return [Object, nil] what the peer said, when it is there
        attr_writer :result, :error

        # @return [Object, nil]
        def result
          set?
          @result
        end

        # @return [Object, nil] nil: there is none (yet)
        def error
          set?
          @error
        end

        # @param callback [#call, nil] instead of the block: gets this future, or with two parameters error and result
        # @return [void]
        def attach_callback(callback = nil, &block)
          @lock.synchronize { (@callbacks ||= []) << (callback || block) }
          @loop.watch(self)
          loop = @loop
          @call.respond_to?(:follow) ? @call.follow { loop.wake } : loop.wake
        end

        # @yieldparam error [Object]
        # @yieldparam result [Object]
        def attach_error_handler(handler = nil, &block) = @error_handler = handler || block

        # @yieldparam result [Object]
        # @yieldreturn [Object] what {#get} returns instead
        def attach_result_handler(handler = nil, &block) = @result_handler = handler || block

        # @return [Boolean] whether the answer is there; does not wait
        # @api private
        def set?
          settle if !@set && (@call.is_a?(Exception) || @call.ready?)
          @set || false
        end

        # Calls those who want to know, once each.
        # @return [void]
        # @api private
        def call_back
          callbacks = @lock.synchronize { @callbacks.tap { @callbacks = nil } }
          callbacks&.each { |callback| tell(callback) }
        end

        private

        def tell(callback)
          callback.arity == 2 ? callback.call(@error, @result) : callback.call(self)
        rescue StandardError
          nil # as in msgpack-rpc
        end

        # Of two who wait both may do it.
        def settle
          raise @call if @call.is_a?(Exception)

          @result = @call.value
          @set = true
        rescue Plait::Error => e
          @error, @result = in_old_words(e)
          @cause = e unless e.is_a?(Plait::RemoteError)
          @set = true
        end

        # @return [Array(Object, Object)] as it would have come from a peer
        def in_old_words(error)
          case error
          when Plait::RemoteError then error.to_rpc_error
          when ConnectError, ConnectTimeout, TLSError then [ConnectionTimeoutError::CODE, ["connection timed out"]]
          when Plait::TimeoutError then [TimeoutError::CODE, ["request timed out"]]
          when ConnectionClosed then [StreamClosedError::CODE, [error.message]]
          when RemoteProtocolError then [MalformedMessageError::CODE, [error.message]]
          else raise error
          end
        end
      end
    end
  end
end
