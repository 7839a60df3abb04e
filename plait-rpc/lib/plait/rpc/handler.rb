# frozen_string_literal: true

require_relative "exposure"
require_relative "incoming"
require "plait/mechanisms/thread_guard"
require "plait/mechanisms/state"
require "plait/values/deadline"
require "plait/values/errors"

module Plait
  module RPC
    # How an error is told to a peer: MessagePack-RPC leaves it open, and peers expect different things.
    #
    # - `:string`: "KeyError: key not found: 5". Everybody can show it.
    # - `:pair`: [0, "KeyError: key not found: 5"], as Neovim does: 1 for what the caller did wrong (no such method, wrong
    #   arguments), 0 for all else.
    # - `:named`: the name as the error and, as the result, what there is to say, as msgpack-rpc does:
    #   ".CallError.NoMethodError", ["no method …"]. An exception of a method is named by its class.
    # - anything with `call(error)`, for an Exception or a {Refusal}: it returns [error, result].
    #
    # An exception may know better: what its `to_rpc_error` returns, [error, result], is sent as it is.
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
        # @param format [Symbol, #call]
        # @return [#call]
        # @raise [UsageError]
        def fetch(format)
          return own(format) if format.respond_to?(:call)

          own(FORMATS[format] || raise(UsageError, "errors: is #{FORMATS.keys.map(&:inspect).join(", ")} or something with " \
                                                   "`call`, not #{format.inspect}"))
        end

        # @param error [Exception, Refusal]
        # @return [String] UTF-8
        def message(error)
          text = error.respond_to?(:original_message) ? error.original_message : error.message
          readable(text.to_s)[0, LONGEST]
        rescue StandardError => e
          "its message raises #{e.class}"
        end

        # @return [String]
        def name(error) = error.is_a?(Refusal) ? error.name : (error.class.name || "Exception")

        # @return [String]
        def sentence(error) = "#{name(error)}: #{message(error)}"

        private

        def own(format)
          ->(error) { error.respond_to?(:to_rpc_error) ? error.to_rpc_error : format.call(error) }
        end

        # Ruby's additions to messages (did_you_mean) take milliseconds; those of drivers and paths may be bytes of any kind.
        def readable(text)
          return text if text.encoding == Encoding::UTF_8 && text.valid_encoding?
          return text.dup.force_encoding(Encoding::UTF_8).scrub if text.encoding.ascii_compatible?

          text.encode(Encoding::UTF_8, invalid: :replace, undef: :replace)
        end
      end
    end
    private_constant :ErrorFormat

    # Runs requests on an object and answers them, on whichever thread or fiber it is called.
    class Handler
      # What a method may raise without an end of what runs it. All else (an interruption, say) goes on after the peer was
      # told that there will be no result.
      ERRORS = [StandardError, ScriptError, SystemExit, SystemStackError, NoMemoryError, SecurityError,
                *(Java::JavaLang::StackOverflowError if RUBY_ENGINE == "jruby")].freeze
      private_constant :ERRORS

      # @return [Hash{String => Callable}]
      attr_reader :methods
      # @return [Integer] requests and notifications for methods that there are not
      attr_reader :unknown
      # @return [Integer] those that were skipped, since they were over a limit
      attr_reader :excessive

      # @param object [Object, Module, Hash] see {Exposure}
      # @param methods [Array, Hash, nil] see {Exposure}
      # @param errors [Symbol, #call] see {ErrorFormat}
      # @param extra [Hash{String => Callable}] further methods
      # @param on_error [#call, nil] called with each exception of a method, a NoMethodError for a method that there is not, or a
      #   {RemoteProtocolError} for what ends a connection; and with the {Incoming} it belongs to, nil for the latter. A server
      #   calls it, with nil, for each exception of another thread that it drops: in that other thread
      # @raise [UsageError]
      def initialize(object, methods: nil, errors: :string, extra: {}, on_error: nil)
        @methods = Exposure.of(object, methods: methods).merge(extra).freeze
        @format = ErrorFormat.fetch(errors)
        @on_error = on_error
        @storage = Mechanisms::State.storage
        @unknown = @excessive = 0
        @counting = Mutex.new
      end

      # After a method, where it has run: the next one finds nothing of what it has left at its fiber and thread.
      # @return [Mechanisms::State::Own, nil] of the fiber, from now on
      # @api private
      def forget
        own = Mechanisms::State.clear(Mechanisms::State::Own.current)
        Mechanisms::State.inherit(@storage)
        own
      end

      # @return [Callable, nil]
      def find(name) = @methods[name]

      # @param error [Exception, Refusal]
      # @return [Array(Object, Object)] what the peer is told: the error, and the result beside it
      def tell(error) = @format.call(error)

      # Runs one, and answers it unless it has a {Delayed} result.
      # @param incoming [Incoming]
      # @param callable [Callable, nil] what was found
      # @param flush [Boolean] false: somebody will flush the connection soon
      # @return [void]
      def run(incoming, callable, flush: true)
        return exceeded(incoming, flush) if incoming.excess
        return not_found(incoming, flush) unless callable

        arguments = arguments_of(incoming, callable, flush) or return
        call(incoming, callable, arguments, flush)
      end

      # Tells on_error, which can't harm who calls this.
      # @param error [Exception]
      # @param incoming [Incoming, nil] nil: it concerns the connection
      # @return [void]
      # @api private
      def report(error, incoming = nil)
        @on_error&.call(error, incoming)
      rescue *ERRORS
        nil # nothing is left to be called for the failure of on_error
      end

      # What a method has returned is the answer, or will be.
      # @param incoming [Incoming]
      # @return [void]
      # @raise [Protocols::MessagePackRPC::PackError]
      # @api private
      def conclude(incoming, value, flush: false)
        value.is_a?(Delayed) ? value.attach(incoming) : incoming.respond(value, flush: flush)
      end

      # A method has raised something: its caller is told.
      # @param incoming [Incoming]
      # @param error [Exception]
      # @return [Boolean] false: it is for who runs the method too
      # @api private
      def rescued?(incoming, error)
        return false unless ERRORS.any? { |kind| error.is_a?(kind) }

        failed(incoming, error, false)
        true
      end

      # A method was left without a result.
      # @param incoming [Incoming]
      # @return [void]
      # @api private
      def abandon(incoming) = refuse(incoming, :abandoned, "the method was ended before it had a result", true)

      private

      # @return [Array, nil] nil when it was answered that they are wrong
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
        value = timed(callable) { invoke(incoming, callable, arguments) }
        done = true
        conclude(incoming, value, flush: flush)
      rescue *ERRORS => e
        done = true
        failed(incoming, e, flush)
      ensure
        abandon(incoming) unless done
      end

      def invoke(incoming, callable, arguments)
        ThreadGuard.lowered { callable.call(arguments, incoming) { |early| incoming.respond(early) } }
      end

      # The method alone: what it takes to send a large answer is no reason to take it for a slow one.
      def timed(callable)
        began = Deadline.now
        yield
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
