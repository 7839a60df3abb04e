# frozen_string_literal: true

require_relative "version"

module Plait
  module RPC
    module Compat
      # What is raised of a call is one of these. What has happened below is told by their `cause`.
      class Error < StandardError; end

      # An error with the name that travels, as ".CallError.NoMethodError": those with a dot in front are MessagePack-RPC's own.
      class RPCError < Error
        CODE = ""

        # @return [String]
        attr_reader :code
        # @return [Array] what else was sent
        attr_reader :data

        # @param code [#to_s, nil] nil: that of the class
        # @param data [Array] a message, and more
        def initialize(code, *data)
          @code = code.to_s
          @data = data
          super(@data.shift || @code)
        end

        # @param code [String, Class<RPCError>]
        # @return [Boolean] whether it is of this kind
        def is?(code)
          return !@code.start_with?(".") if code == RemoteError

          code = code::CODE if code.is_a?(Class) && code < RPCError
          @code == code || @code.start_with?("#{code}.")
        end

        # @param code [Object] as it has come
        # @param data [Object] what has come in the place of the result
        # @return [RPCError]
        def self.create(code, data)
          data = Array(data)
          return RemoteError.new(code, *data) unless code.is_a?(String) && code.start_with?(".")
          return RuntimeError.new(*data) if code == RuntimeError::CODE

          kind = kind(code)
          kind ? kind.new(data.first || code) : new(code, *data)
        end

        # The nearest one: what we don't know is a kind of what we do.
        def self.kind(code)
          KINDS[code] || (code.count(".") > 1 ? kind(code[/.*(?=\.)/]) : nil)
        end
        private_class_method :kind
      end

      # One that is known by its class.
      class NamedError < RPCError
        def initialize(message) = super(self.class::CODE, message)
      end
      private_constant :NamedError

      # No answer in time.
      class TimeoutError < NamedError
        CODE = ".TimeoutError"
      end

      class TransportError < NamedError
        CODE = ".TransportError"
      end

      class NetworkUnreachableError < TransportError
        CODE = ".TransportError.NetworkUnreachableError"
      end

      class ConnectionRefusedError < TransportError
        CODE = ".TransportError.ConnectionRefusedError"
      end

      # There is no connection.
      class ConnectionTimeoutError < TransportError
        CODE = ".TransportError.ConnectionTimeoutError"
      end

      # The peer has broken the protocol.
      class MalformedMessageError < TransportError
        CODE = ".TransportError.MalformedMessageError"
      end

      # The connection ended before the answer.
      class StreamClosedError < TransportError
        CODE = ".TransportError.StreamClosedError"
      end

      class CallError < NamedError
        CODE = ".CallError"
      end

      class NoMethodError < CallError
        CODE = ".CallError.NoMethodError"
      end

      class ArgumentError < CallError
        CODE = ".CallError.ArgumentError"
      end

      class ServerError < NamedError
        CODE = ".ServerError"
      end

      class ServerBusyError < ServerError
        CODE = ".ServerError.ServerBusyError"
      end

      # What the method itself has raised.
      class RemoteError < RPCError; end

      # The same, told by a message alone.
      class RuntimeError < RemoteError
        CODE = ".RuntimeError"

        def initialize(message, *data) = super("RuntimeError", message, *data)
      end

      class RPCError
        KINDS = [TimeoutError, TransportError, NetworkUnreachableError, ConnectionRefusedError, ConnectionTimeoutError,
                 MalformedMessageError, StreamClosedError, CallError, NoMethodError, ArgumentError, ServerError,
                 ServerBusyError].to_h { |kind| [kind::CODE, kind] }.freeze
        private_constant :KINDS
      end
    end
  end
end
