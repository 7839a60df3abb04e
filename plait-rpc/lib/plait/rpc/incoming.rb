# frozen_string_literal: true

require_relative "refusal"
require_relative "../protocols/messagepack_rpc/codec"
require "plait/values/errors"

module Plait
  module RPC
    # A request or a notification of the peer, and the answer to it. It is answered once: what comes later, or after the
    # connection went, is dropped without harm.
    class Incoming
      # @return [Connection]
      attr_reader :connection
      # @return [Integer, nil] nil: it is a notification
      attr_reader :id
      # @return [String, nil] frozen; nil: of a request over a limit it may be unknown
      attr_reader :method_name
      # Who has taken it: it tells which answer is the first, and how an error is told.
      # @return [#settle, #tell]
      # @api private
      attr_accessor :dispatcher

      # @param connection [Connection]
      # @param id [Integer, nil]
      # @param method_name [String]
      # @param params [String, Array<String>, Protocols::MessagePackRPC::Skeleton, LimitExceeded, nil] a packed array; or the
      #   limit that it has exceeded, so that it was skipped
      # @param arguments [Array, nil] instead, where they are unpacked already
      def initialize(connection, id, method_name, params, arguments = nil)
        @connection = connection
        @id = id
        @method_name = method_name
        @params = params
        @arguments = arguments
      end

      # @return [Boolean]
      def notification? = @id.nil?

      # @return [String, Array<String>, Protocols::MessagePackRPC::Skeleton] packed
      def params = @params || @connection.codec.pack(@arguments)

      # @return [LimitExceeded, nil] why there are no arguments
      # @api private
      def excess = (@params if @params.is_a?(LimitExceeded))

      # @return [Array]
      # @raise [Protocols::MessagePackRPC::UnpackError, LimitExceeded]
      def arguments = @arguments || (excess ? raise(excess) : @connection.codec.unpack(@params))

      # @return [Boolean]
      def answered? = @answered || false

      # Called by the dispatcher when it has noted that this is the first answer.
      # @return [true]
      # @api private
      def answered! = @answered = true

      # Answers with a result. One that can't be packed is answered with an error.
      # @param result [Object]
      # @param flush [Boolean] false: somebody will flush the connection soon
      # @return [Boolean] whether this was the first answer
      # @raise [Protocols::MessagePackRPC::PackError] the result has no form in MessagePack; the peer was told
      def respond(result, flush: true)
        return false unless @dispatcher.settle(self)

        deliver(result, flush) if @id
        true
      end

      # Answers with an error.
      # @param error [Exception, Refusal]
      # @return [Boolean] whether this was the first answer
      def fail(error, flush: true)
        return false unless @dispatcher.settle(self)

        send_error(error, flush) if @id
        true
      end

      # @return [String]
      def inspect = "#<#{self.class} #{@method_name} #{notification? ? "notification" : @id}#{" answered" if @answered}>"

      private

      def deliver(result, flush)
        @connection.respond(@id, result, flush: flush)
      rescue StandardError => e # the code of a registered extension type may raise anything
        send_error(Refusal.new(:result, e.message), flush)
        raise
      end

      def send_error(error, flush)
        value, about = @dispatcher.tell(error)
        @connection.respond_error(@id, value, about, flush: flush)
      rescue Protocols::MessagePackRPC::PackError => e # an error of the handler's own making
        value, about = @dispatcher.tell(Refusal.new(:result, e.message))
        @connection.respond_error(@id, value, about, flush: flush)
      end
    end
  end
end
