# frozen_string_literal: true

require "msgpack"
require_relative "../rpc"

MessagePack.const_defined?(:RPC, false) &&
  raise(Plait::UsageError, "msgpack-rpc is loaded already; plait/rpc/compat takes its place: take out the other require")

module Plait
  module RPC
    Compat = MessagePack.const_set(:RPC, Module.new)

    # `require "plait/rpc/compat"` instead of "msgpack/rpc": a program for the gem msgpack-rpc 0.7 runs on Plait's client and
    # server, with the changes that guides/upgrading.md lists.
    module Compat
      def self.const_missing(name)
        raise NameError.new("plait/rpc/compat has no MessagePack::RPC::#{name}: see guides/upgrading.md", name)
      end

      class Error < StandardError; end

      # An error with the name that travels, as ".CallError.NoMethodError"; a leading dot marks MessagePack-RPC's own.
      class RPCError < Error
        CODE = ""
        attr_reader :code, :data

        def initialize(code, *data)
          @code, @data = code.to_s, data
          super(data.shift || @code)
        end

        # Whether it has this name, one below it, or this class.
        def is?(code)
          return !@code.start_with?(".") if code == RemoteError

          code = code::CODE if code.is_a?(Class) && code < RPCError
          @code == code || @code.start_with?("#{code}.")
        end

        def self.create(code, data)
          data = Array(data)
          return RemoteError.new(code, *data) unless code.is_a?(String) && code.start_with?(".")

          near = code
          near = near[/.*(?=\.)/] until near.empty? || KINDS.key?(near)
          near.empty? ? new(code, *data) : KINDS[near].new(near, data.first || code)
        end
      end

      # An exception of the method; RuntimeError, if the peer sends a message alone.
      class RemoteError < RPCError; end
      RuntimeError = Class.new(RemoteError) { def initialize(message) = super("RuntimeError", message) }

      RPCError::KINDS = {
        TimeoutError: nil, TransportError: nil, CallError: nil, ServerError: nil, NetworkUnreachableError: :TransportError,
        ConnectionRefusedError: :TransportError, ConnectionTimeoutError: :TransportError, MalformedMessageError: :TransportError,
        StreamClosedError: :TransportError, NoMethodError: :CallError, ArgumentError: :CallError, ServerBusyError: :ServerError
      }.to_h do |name, parent|
        parent = parent ? const_get(parent) : RPCError
        kind = const_set(name, Class.new(parent))
        [kind.const_set(:CODE, "#{parent::CODE}.#{name}"), kind]
      end.freeze

      class Future
        OLD_WORDS = [[ConnectError, ConnectionTimeoutError, "connection timed out"], [TLSError, ConnectionTimeoutError],
                     [ConnectTimeout, ConnectionTimeoutError, "connection timed out"],
                     [Plait::TimeoutError, TimeoutError, "request timed out"], [ConnectionClosed, StreamClosedError],
                     [RemoteProtocolError, MalformedMessageError]].freeze
        private_constant :OLD_WORDS

        def initialize(call) = @call = call

        def get
          join
          return @result if @error.nil?

          raise (@result.nil? ? RuntimeError.new(@error) : RPCError.create(@error, @result)), cause: @cause
        end

        def join
          raise @call if @call.is_a?(Exception)

          @result = @call.value
          self
        rescue Plait::Error => e
          @cause = e unless e.is_a?(Plait::RemoteError)
          @error, @result = in_old_words(e)
          self
        end

        def result = (join && @result if ready?)
        def error = (join && @error if ready?)

        # The block takes the future, or error and result; it runs on a thread of the connection.
        def attach_callback(callback = nil, &block)
          callback ||= block
          call = ->(_) { join && callback.arity == 2 ? callback.call(@error, @result) : callback.call(self) }
          @call.is_a?(Exception) ? call.call(self) : @call.follow(&call)
        end

        private

        def ready? = @call.is_a?(Exception) || @call.ready?

        def in_old_words(error)
          return error.to_rpc_error if error.is_a?(Plait::RemoteError)

          _, kind, message = OLD_WORDS.find { |known, _| error.is_a?(known) } || raise(error)
          [kind::CODE, [message || error.message]]
        end
      end

      class Client
        attr_reader :host, :port
        attr_accessor :timeout

        def self.open(...)
          client = new(...)
          yield client
        ensure
          client&.close
        end

        def initialize(host, port, _loop = nil)
          @host, @port, @timeout = host, port, 10
          connect
        end

        def call(method, *arguments) = call_async(method, *arguments).get

        def call_async(method, *arguments)
          Future.new(@client.call_async(method, *arguments, timeout: @timeout))
        rescue ConnectionError, Plait::TimeoutError, RemoteProtocolError => e
          Future.new(e) # its `get` raises it
        end
        alias send call_async

        def callback(method, *arguments, &block) = call_async(method, *arguments).tap { |one| one.attach_callback(&block) }

        def notify(method, *arguments)
          @client.notify(method, *arguments, timeout: @timeout)
        rescue ConnectionError, Plait::TimeoutError
          nil
        end

        %i[call call_async callback notify].each do |name| # with the arguments as an Array
          define_method(:"#{name}_apply") { |method, arguments, &block| public_send(name, method, *arguments, &block) }
        end

        # The next call makes a new connection.
        def close = @client.close.then { connect }

        private

        def connect = tap { @client = RPC::Client.new(@host, @port, timeout: nil, reconnect: 0) }
      end

      Session = Client

      class SessionPool
        def initialize(_loop = nil) = @sessions = {}.tap { @lock = Mutex.new }
        def get_session(host, port) = @lock.synchronize { @sessions[[host, port]] ||= Session.new(host, port) }
        def close = @lock.synchronize { @sessions.each_value(&:close).clear && nil }
      end

      class AsyncResult < Delayed
        def result(value, error = nil)
          error.nil? ? super(value) : settle { |incoming| incoming.fail(Plait::RemoteError.new(error, value)) }
        end

        def error(error) = result(nil, error)
      end

      # Runs methods one at a time; while one waits another goes on. It is a pool of sessions to other servers, too.
      class Server < SessionPool
        UNKNOWN = /\Athere is no method "(.*)"\z/
        ERRORS = ->(error) { [ErrorFormat.message(error).sub(UNKNOWN, "method `\\1' is not accepted"), nil] }
        MANNER = { on: RUBY_ENGINE == "jruby" ? :threads : :fibers, limit: (1 if RUBY_ENGINE == "jruby") }.freeze
        private_constant :UNKNOWN, :ERRORS, :MANNER

        def serve(object, accept = nil) = tap { @served = [object, accept] }

        def listen(host, port, object = nil, accept = nil)
          serve(object, accept) unless nil.equal?(object) # a BasicObject has no nil?
          object, accept = @served || raise("this server serves nothing yet: call serve first")
          @server = @over = @ran = nil if @over
          @server ||= RPC::Server.new(object, methods: accept, errors: ERRORS, introspection: false, **MANNER)
          @server.listen(host, port)
        end

        # Serves until {#stop}; after that it may listen again.
        def run = (@ran = true) && @server&.run
        def stop = (@over = true) && @server&.stop(within: 1)

        def close
          super
          stop
          run unless @ran # its end closes the sockets
        end
      end
    end
  end
end
