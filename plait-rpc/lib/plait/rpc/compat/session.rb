# frozen_string_literal: true

require_relative "future"
require_relative "version"
require "plait/values/errors"

module Plait
  module RPC
    module Compat
      # Calls the methods of one server. Unlike that of msgpack-rpc it may be shared by threads.
      class Session
        # Seconds.
        TIMEOUT = 10

        # @return [Loop]
        attr_reader :loop
        # @return [Address, String] a String: the path of a UNIX socket
        attr_reader :address
        # @return [Numeric] seconds for the answer to a call
        attr_accessor :timeout

        # @param builder [TCPTransport, UNIXTransport]
        # @param address [Address, String]
        # @param loop [Loop]
        def initialize(builder, address, loop)
          @builder = builder
          @address = address
          @loop = loop
          @timeout = TIMEOUT
          @client = @builder.build_transport(self, @address)
        end

        # @return [Integer]
        def port = @address.port

        # @return [String]
        def host = @address.host

        # @param method [Symbol, String]
        # @return [Object] its result
        # @raise [RPCError]
        def call(method, *arguments) = ask(method, arguments).get

        # As {#call}, with the arguments as an Array.
        def call_apply(method, arguments) = ask(method, arguments).get

        # @return [Future]
        def call_async(method, *arguments) = ask(method, arguments)
        alias send call_async

        # As {#call_async}, with the arguments as an Array.
        def call_async_apply(method, arguments) = ask(method, arguments)

        # @yieldparam future [Future] when the answer is there, see {Loop}; with two parameters error and result
        # @return [Future]
        def callback(method, *arguments, &block) = callback_apply(method, arguments, &block)

        # As {#callback}, with the arguments as an Array.
        def callback_apply(method, arguments, &block)
          ask(method, arguments).tap { |future| future.attach_callback(block) }
        end

        # @return [nil]
        def notify(method, *arguments) = notify_apply(method, arguments)

        # As {#notify}, with the arguments as an Array.
        def notify_apply(method, arguments)
          @loop.start_servers
          @client.notify(method, *arguments, timeout: @timeout)
        rescue ConnectionError, Plait::TimeoutError
          nil # nobody is told, as of any notification that is lost
        end

        # Closes the connection; the next call makes a new one.
        # @return [self]
        def close
          @client.close
          @client = @builder.build_transport(self, @address)
          self
        end

        private

        # What goes wrong is the future's: nothing is raised before somebody wants the answer.
        def ask(method, arguments)
          @loop.start_servers
          Future.new(@loop, @client.call_async(method, *arguments, timeout: @timeout))
        rescue ConnectionError, Plait::TimeoutError, RemoteProtocolError => e
          Future.new(@loop, e)
        end
      end
    end
  end
end
