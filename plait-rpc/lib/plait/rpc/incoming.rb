# frozen_string_literal: true

require_relative "../protocols/messagepack_rpc/codec"
require "plait/values/errors"

module Plait
  module RPC
    # Why a request has no result, when it is not for an exception of the method that was called.
    class Refusal
      # What peers that name their errors know them by.
      Kind = Struct.new(:name, :code)

      # - no_method: there is none of that name, or it may not be called
      # - arguments: another number of them than the method takes, or they can't be unpacked
      # - limit: it has more bytes, levels or elements than is taken
      # - denied: the connection has not shown the secret
      # - busy: too many requests wait already
      # - stopping: the server ends
      # - abandoned: what ran the method was killed, or left the server by `exit`
      # - result: the method's result can't be packed
      KINDS = {
        no_method: Kind.new("NoMethodError", ".CallError.NoMethodError"),
        arguments: Kind.new("ArgumentError", ".CallError.ArgumentError"),
        limit: Kind.new("LimitError", ".CallError"),
        denied: Kind.new("PermissionError", ".CallError"),
        busy: Kind.new("ServerBusyError", ".ServerError.ServerBusyError"),
        stopping: Kind.new("ServerStoppingError", ".ServerError"),
        abandoned: Kind.new("AbandonedError", ".ServerError"),
        result: Kind.new("ResultError", ".ServerError")
      }.each_value(&:freeze).freeze
      private_constant :Kind

      # @return [Symbol] of KINDS
      attr_reader :kind
      # @return [String]
      attr_reader :message

      # @param kind [Symbol]
      # @param message [String]
      def initialize(kind, message)
        @kind = kind
        @message = message
      end

      # @return [String] as "NoMethodError"
      def name = KINDS.fetch(@kind).name

      # @return [String] as ".CallError.NoMethodError"
      def code = KINDS.fetch(@kind).code

      # @return [Boolean] whether it is the caller's mistake
      def caller? = %i[no_method arguments limit denied].include?(@kind)
    end

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

    # A result that is not there yet. A method that returns one has its caller answered when it is: from any thread or fiber,
    # also before the method has returned it.
    #
    # @example
    #   def report(id)
    #     delayed = Plait::RPC::Delayed.new
    #     Reports.on_ready(id) { |report| delayed.result(report) }
    #     delayed
    #   end
    class Delayed
      def initialize
        @lock = Mutex.new
      end

      # The result is there. The first word counts.
      # @param value [Object]
      # @return [Boolean] whether the caller was answered by it, or will be
      # @raise [Protocols::MessagePackRPC::PackError]
      def result(value) = settle { |incoming| incoming.respond(value) }

      # There will be no result.
      # @param error [Exception, String]
      # @return [Boolean]
      def error(error)
        error = RuntimeError.new(error) unless error.is_a?(Exception)
        settle { |incoming| incoming.fail(error) }
      end

      # Called when the method has returned it.
      # @api private
      def attach(incoming)
        answer = @lock.synchronize do
          @incoming = incoming
          @answer
        end
        answer&.call(incoming)
      end

      private

      def settle(&answer)
        incoming = @lock.synchronize do
          return false if @answer

          @answer = answer
          @incoming
        end
        incoming ? answer.call(incoming) : true
      end
    end
  end
end
