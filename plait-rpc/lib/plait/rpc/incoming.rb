# frozen_string_literal: true

module Plait
  module RPC
    # Why a request has no result, if no exception of its method is the reason.
    class Refusal
      # For each kind a name for peers that name their errors, and msgpack-rpc's:
      #
      # - no_method: there is none of that name, or it may not be called
      # - arguments: too few or too many, or they can't be unpacked
      # - limit: the request is over a limit of bytes, levels or elements
      # - denied: the connection has not shown the secret
      # - busy: too many requests wait already
      # - stopping: the server ends
      # - abandoned: the method was killed, or has called `exit`
      # - result: the method's result can't be packed
      KINDS = {
        no_method: %w[NoMethodError .CallError.NoMethodError], arguments: %w[ArgumentError .CallError.ArgumentError],
        limit: %w[LimitError .CallError], denied: %w[PermissionError .CallError],
        busy: %w[ServerBusyError .ServerError.ServerBusyError], stopping: %w[ServerStoppingError .ServerError],
        abandoned: %w[AbandonedError .ServerError], result: %w[ResultError .ServerError]
      }.freeze

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
      def name = KINDS.fetch(@kind).first

      # @return [String] as ".CallError.NoMethodError"
      def code = KINDS.fetch(@kind).last

      # @return [Boolean] whether the caller has made a mistake
      def caller? = %i[no_method arguments limit denied].include?(@kind)
    end

    # A request or a notification of the peer. Its first answer counts; later ones, and any after the connection's end, are
    # dropped.
    class Incoming
      # @return [Connection]
      attr_reader :connection
      # @return [Integer, nil] nil: a notification
      attr_reader :id
      # @return [String, nil] frozen; nil: unknown, of a request over a limit
      attr_reader :method_name
      # @return [#settle, #tell] knows which answer is the first, and the form of errors
      # @api private
      attr_accessor :dispatcher

      # @param connection [Connection]
      # @param id [Integer, nil]
      # @param method_name [String]
      # @param params [String, Array<String>, Skeleton, LimitExceeded, nil] a packed array; or the limit that it has exceeded, so
      #   that it was skipped
      # @param arguments [Array, nil] instead, unpacked
      def initialize(connection, id, method_name, params, arguments = nil)
        @connection = connection
        @id = id
        @method_name = method_name
        @params = params
        @arguments = arguments
      end

      # @return [Boolean]
      def notification? = @id.nil?

      # @return [String, Array<String>, Skeleton] packed
      def params = @params || @connection.codec.pack(@arguments)

      # @return [LimitExceeded, nil] why there are no arguments
      # @api private
      def excess = (@params if @params.is_a?(LimitExceeded))

      # @return [Array]
      # @raise [Protocols::MessagePackRPC::UnpackError, LimitExceeded]
      def arguments = @arguments || (excess ? raise(excess) : @connection.codec.unpack(@params))

      # @return [Boolean]
      def answered? = @answered || false

      # Called by the dispatcher.
      # @return [true]
      # @api private
      def answered! = @answered = true

      # Answers with a result. One that can't be packed is answered with an error.
      # @param result [Object]
      # @param flush [Boolean] false: the caller soon flushes the connection
      # @return [Boolean] whether this was the first answer
      # @raise [Protocols::MessagePackRPC::PackError] the result has no form in MessagePack; the peer has an error
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

    # A result that is not there yet. If a method returns one, its caller is answered by {#result} or {#error}, from any thread
    # or fiber, also before the method returns.
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

      # Answers with the result; the first call of this or {#error} counts.
      # @param value [Object]
      # @return [Boolean] whether this was the first call
      # @raise [Protocols::MessagePackRPC::PackError]
      def result(value) = settle { |incoming| incoming.respond(value) }

      # Answers with an error.
      # @param error [Exception, String]
      # @return [Boolean]
      def error(error)
        error = RuntimeError.new(error) unless error.is_a?(Exception)
        settle { |incoming| incoming.fail(error) }
      end

      # Called when the method has returned.
      # @api private
      def attach(incoming)
        answer = @lock.synchronize do
          @incoming = incoming
          @answer
        end
        answer&.call(incoming)
      end

      private

      # In a worker, an exception of another thread must not come between the first call's note and its answer.
      def settle(&answer)
        ThreadGuard.held do
          incoming = @lock.synchronize do
            next false if @answer

            @answer = answer
            @incoming
          end
          incoming ? answer.call(incoming) : incoming.nil?
        end
      end
    end
  end
end
