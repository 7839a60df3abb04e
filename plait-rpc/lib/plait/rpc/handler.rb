# frozen_string_literal: true

require_relative "exposure"
require "plait/mechanisms/failure"

module Plait
  module RPC
    # The form of an error in an answer: MessagePack-RPC leaves it open, and peers expect different ones.
    #
    # - `:string`: "KeyError: key not found: 5". Any peer can show it.
    # - `:pair`: [0, "KeyError: key not found: 5"], as Neovim does: 1 for a mistake of the caller (no such method, wrong
    #   arguments), 0 for all else.
    # - `:named`: the name as the error and the message as the result, as msgpack-rpc does: ".CallError.NoMethodError",
    #   ["no method …"]. An exception of a method has the name of its class.
    # - any object with `call(error)`, for an Exception or a {Refusal}: it returns [error, result].
    #
    # The `to_rpc_error` of an exception, [error, result], goes before all of these.
    # @api private
    module ErrorFormat
      # Characters of a message.
      LONGEST = 16 * 1024

      FORMATS = {
        string: ->(error) { [sentence(error), nil] },
        pair: ->(error) { [[error.is_a?(Refusal) && error.caller? ? 1 : 0, sentence(error)], nil] },
        named: ->(error) { [error.is_a?(Refusal) ? error.code : name(error), [message(error)]] }
      }.freeze

      class << self
        # @raise [UsageError]
        def fetch(format)
          return own(format) if format.respond_to?(:call)

          own(FORMATS[format] || raise(UsageError, "errors: is #{FORMATS.keys.map(&:inspect).join(", ")} or something with " \
                                                   "`call`, not #{format.inspect}"))
        end

        # @return [String] UTF-8
        def message(error)
          # (did_you_mean takes milliseconds for its additions)
          text = error.respond_to?(:original_message) ? error.original_message : error.message
          Failure.readable(text.to_s)[0, LONGEST]
        rescue StandardError => e
          "its message raises #{e.class}"
        end

        def name(error) = error.is_a?(Refusal) ? error.name : (error.class.name || "Exception")

        def sentence(error) = "#{name(error)}: #{message(error)}"

        private

        def own(format) = ->(error) { error.respond_to?(:to_rpc_error) ? error.to_rpc_error : format.call(error) }
      end
    end
    private_constant :ErrorFormat

    # Runs requests on an object and answers them, on the current thread or fiber.
    class Handler
      # Exceptions of a method that end only its request. Others (an interruption, say) also end its worker.
      ERRORS = [StandardError, ScriptError, SystemExit, SystemStackError, NoMemoryError, SecurityError,
                *(Java::JavaLang::StackOverflowError if RUBY_ENGINE == "jruby")].freeze
      private_constant :ERRORS

      # @return [Integer, nil] of the process that serves; nil: `exit` in a fork is answered as in this process
      # @api private
      attr_writer :generation
      # @return [Hash{String => Callable}]
      attr_reader :methods
      # @return [Integer] requests and notifications for unknown methods
      attr_reader :unknown
      # @return [Integer] requests and notifications that were over a limit, and skipped
      attr_reader :excessive

      # @param object [Object, Module, Hash] see {Exposure}
      # @param methods [Array, Hash, nil] see {Exposure}
      # @param errors [Symbol, #call] see {ErrorFormat}
      # @param extra [Hash{String => Callable}] further methods
      # @param on_error [#call, nil] called with an error and its {Incoming}: each exception of a method, a NoMethodError for an
      #   unknown method; with nil as the Incoming a {RemoteProtocolError} that ends a connection, and each exception of another
      #   thread that a server drops (in that other thread)
      # @raise [UsageError]
      def initialize(object, methods: nil, errors: :string, extra: {}, on_error: nil)
        @methods = Exposure.of(object, methods: methods).merge(extra).freeze
        @format = ErrorFormat.fetch(errors)
        @on_error = on_error
        @storage = Mechanisms::State.storage
        @unknown = @excessive = 0
        @counting = Mutex.new
      end

      # After a method, on its thread and fiber: the next one finds nothing of its state there.
      # @return [Mechanisms::State::Own, nil] of the fiber, from now on
      # @api private
      def forget
        own = Mechanisms::State.clear(Mechanisms::State::Own.current)
        Mechanisms::State.inherit(@storage) if @storage
        own
      end

      # @return [Callable, nil]
      def find(name) = @methods[name]

      # @param error [Exception, Refusal]
      # @return [Array(Object, Object)] of the answer: the error, and the result beside it
      def tell(error) = @format.call(error)

      # Runs a request, and answers it unless it has a {Delayed} result.
      # @param incoming [Incoming]
      # @param callable [Callable, nil] of {#find}
      # @param flush [Boolean] false: the caller soon flushes the connection
      def run(incoming, callable, flush: true)
        return exceeded(incoming, flush) if incoming.excess
        return not_found(incoming, flush) unless callable

        arguments = arguments_of(incoming, callable, flush) or return
        call(incoming, callable, arguments, flush)
      end

      # Calls on_error; its exceptions are dropped.
      # @param error [Exception]
      # @param incoming [Incoming, nil] nil: it concerns the connection
      # @api private
      def report(error, incoming = nil)
        @on_error&.call(error, incoming)
      rescue *ERRORS
        nil
      end

      # Answers with a method's value, now or when it is there.
      # @raise [Protocols::MessagePackRPC::PackError]
      # @api private
      def conclude(incoming, value, flush: false)
        value.is_a?(Delayed) ? value.attach(incoming) : incoming.respond(value, flush: flush)
      end

      # Answers with a method's exception.
      # @return [Boolean] false: it also ends the worker
      # @api private
      def rescued?(incoming, error)
        return false if ends_fork?(error) || ERRORS.none? { |kind| error.is_a?(kind) }

        failed(incoming, error, false)
        true
      end

      # The method was ended.
      # @api private
      def abandon(incoming) = refuse(incoming, :abandoned, "the method was ended before it had a result", true)

      private

      # @return [Array, nil] nil: they are wrong, and the request is answered
      def arguments_of(incoming, callable, flush)
        arguments = incoming.arguments
        refusal = callable.refusal(arguments) or return arguments

        incoming.fail(refusal, flush: flush)
        nil
      rescue StandardError => e # the code of a registered extension type may raise anything
        refuse(incoming, :arguments, ErrorFormat.message(e), flush)
        nil
      end

      def call(incoming, callable, arguments, flush)
        value = invoke(incoming, callable, arguments)
        done = true
        conclude(incoming, value, flush: flush)
      rescue *ERRORS => e
        done = true
        ends_fork?(e) ? raise : failed(incoming, e, flush)
      ensure
        abandon(incoming) unless done
      end

      # @return [Boolean] whether it is the `exit` of a process that a method has forked
      def ends_fork?(error) = error.is_a?(SystemExit) && !@generation.nil? && @generation != Native.fork_generation

      # The time that a large answer takes to be sent does not count: it makes no method slow.
      def invoke(incoming, callable, arguments)
        began = Deadline.now
        ThreadGuard.lowered { callable.call(arguments, incoming) { |early| ThreadGuard.held { incoming.respond(early) } } }
      ensure
        callable.took(Deadline.now - began)
      end

      def refuse(incoming, kind, message, flush) = incoming.fail(Refusal.new(kind, message), flush: flush)

      def failed(incoming, error, flush)
        error = Refusal.new(:abandoned, "the method called exit") if error.is_a?(SystemExit)
        error = SystemStackError.new("stack level too deep") unless error.is_a?(Refusal) || error.is_a?(Exception) # Java's own
        incoming.fail(error, flush: flush)
        report(error, incoming) unless error.is_a?(Refusal)
      rescue *ERRORS
        nil # the answer can't be sent
      end

      def exceeded(incoming, flush)
        @counting.synchronize { @excessive += 1 }
        refuse(incoming, :limit, incoming.excess.message, flush)
        report(incoming.excess, incoming)
      end

      def not_found(incoming, flush)
        @counting.synchronize { @unknown += 1 }
        message = "there is no method #{incoming.method_name.inspect}"
        refuse(incoming, :no_method, message, flush)
        report(NoMethodError.new(message), incoming)
      end
    end
  end
end
