# frozen_string_literal: true

require_relative "client/reconnecting_connection"
require_relative "connection"
require_relative "future"
require "plait/io/endpoint"

module Plait
  module RPC
    # Calls methods of a MessagePack-RPC server, in any language. One client is for any number of threads, fibers and forks:
    # their calls share a connection, and each gets its own answer, in whatever order they come.
    #
    # It connects with the first call. When the connection is lost, calls that were sent fail with an error whose `retry_safe?`
    # says whether they can have run; other calls are sent on a new connection.
    #
    # A client with a `handler:` also takes requests and notifications of its peer, from {#open} or the first call on.
    class Client
      # Calls one method for many arguments: sends half a window of calls at a time, and collects the results in order.
      class Mapping
        # Calls under way at once.
        WINDOW = 256

        # @yieldparam lists [Array] the arguments of some calls, or the only argument of each
        # @yieldreturn [Batch, NativeCallBatch]
        # @raise [UsageError]
        def initialize(method, window, &send_many)
          counts = window.is_a?(Integer) && window.positive?
          raise UsageError, "limit: takes a number of calls, not #{window.inspect}" unless counts

          @method = method
          @slice = [window / 2, 1].max
          @most = window / @slice
          @send_many = send_many
          @batches = []
          @results = []
        end

        # @return [Array]
        def run(lists)
          lists.each_slice(@slice) do |slice|
            collect if @batches.size == @most
            @batches << @send_many.call(slice)
          end
          collect until @batches.empty?
          @results
        ensure
          @batches.each(&:cancel)
        end

        private

        def collect
          values = @batches.first.values
          @results.concat(values)
          @batches.shift
        end
      end

      # Connections that an unsent call tries.
      TRIES = 3
      private_constant :Mapping, :TRIES

      class << self
        # @param url [String, Io::Endpoint] "tcp://host:port", "unix:///path" or "tls://host:port"
        # @param options [Hash] see {#initialize}
        # @yieldparam factory [MessagePack::Factory] to register extension types
        # @return [Client]
        # @raise [UsageError]
        def connect(url, **options, &extensions) = new(Io::Endpoint.parse(url), **options, &extensions)

        # As {connect}, for a block: then it is closed.
        # @yieldparam client [Client]
        # @return [Object] the block's value
        def open(url, **options)
          client = connect(url, **options)
          yield client
        ensure
          client&.close
        end
      end

      # @return [Io::Endpoint]
      attr_reader :endpoint
      # @return [Numeric, nil] seconds for each call without a `timeout:`; nil: no limit
      attr_reader :timeout

      # @param host [String, Io::Endpoint] or a URL, see {connect}
      # @param port [Integer, nil]
      # @param options [Hash]
      # @option options [Numeric, nil] :timeout seconds for a call, with connecting; 30
      # @option options [Numeric, nil] :connect_timeout seconds to connect; 10
      # @option options [Numeric] :reconnect seconds for which a call waits for a server that is gone (it may restart); 5
      # @option options [Hash, Io::TLS::Client] :tls for tls://, see {Io::TLS::Client#initialize}
      # @option options [Hash] :connector see {Io::Connector#initialize}: keepalive, nodelay, local_address
      # @option options [Hash] :limits of the peer's messages: message, nesting, elements, method_name
      # @option options [Integer] :outbox bytes that may wait for a peer that doesn't read, before calls wait; 1 MiB
      # @option options [Boolean] :raw for an old peer: neither str 8 nor bin are written
      # @option options [Boolean] :symbolize_keys of Hashes in results
      # @option options [Protocols::MessagePackRPC::Codec] :codec instead of both
      # @option options [Object, Module, Hash, Handler] :handler whose methods the peer can call, as a {Server}'s; they run in
      #   threads: requests side by side, notifications one after another. By `Plait::RPC.current.connection` they can call it
      # @option options [#take] :dispatcher instead, to run them in another way: it takes each {Incoming}, and must not wait
      # @option options [Symbol] :order :lifo answers the peer's last request first, as older Neovim needs it for nested ones
      # @option options [String] :secret that the client shows to the server first
      # @yieldparam factory [MessagePack::Factory] to register extension types
      # @raise [UsageError]
      def initialize(host, port = nil, **options, &extensions)
        @endpoint = port ? Io::Endpoint.tcp(host, port) : Io::Endpoint.parse(host)
        raise UsageError, Connection.no_datagrams(@endpoint) if @endpoint.udp?

        options = Options.new(options, &extensions)
        @timeout = options.timeout
        dialer = Dialer.new(@endpoint, options)
        @link = ReconnectingConnection.new(@endpoint, options.reconnect) { |deadline, &take| dialer.connect(deadline, &take) }
      end

      # @param seconds [Numeric, nil]
      def timeout=(seconds)
        Future.seconds(seconds) if seconds
        @timeout = seconds
      end

      # @!group Calls

      # Calls a method and waits for its result. Other keywords than these are the last argument, a Hash.
      # @param method [Symbol, String]
      # @param arguments [Array]
      # @param timeout [Numeric, nil] seconds
      # @param deadline [Deadline, nil] holds too
      # @return [Object] the result
      # @raise [RemoteError] the peer has answered with an error
      # @raise [ReadTimeout, WriteTimeout] it does not answer in time, or does not read
      # @raise [ConnectError, ConnectTimeout, ResolveError, TLSError, CertificateError] there is no connection; nothing was sent
      # @raise [ConnectionClosed] it ended before the answer; `retry_safe?` says whether the call can have run
      # @raise [RemoteProtocolError] the peer has broken the protocol
      # @raise [Protocols::MessagePackRPC::PackError, Protocols::MessagePackRPC::UnpackError]
      def call(method, *arguments, timeout: @timeout, deadline: nil, **named)
        arguments << named unless named.empty?
        limit = limit(timeout, deadline)
        on_connection(limit) { |connection| connection.request(method, arguments, limit: limit) }
      end

      # Sends a call, and doesn't wait for its result.
      # @param (see #call)
      # @return [Future]
      # @raise (see #call)
      def call_async(method, *arguments, timeout: @timeout, deadline: nil, **named)
        arguments << named unless named.empty?
        limit = limit(timeout, deadline)
        on_connection(limit) { |connection| connection.call(method, arguments, limit: limit) }
      end

      # Sends a notification, which has no answer: it may be lost.
      # @param (see #call)
      # @return [nil]
      # @raise (see #call)
      def notify(method, *arguments, timeout: @timeout, deadline: nil, **named)
        arguments << named unless named.empty?
        limit = limit(timeout, deadline)
        on_connection(limit) { |connection| connection.notify(method, arguments, limit: limit) }
        nil
      end

      # Calls a method for each element, many at once, and sends them together.
      # @param method [Symbol, String]
      # @param lists [#each] for each call its arguments, an Array; or its only argument
      # @param limit [Integer] calls under way at once
      # @param timeout [Numeric, nil] seconds for each
      # @param deadline [Deadline, nil] for all
      # @return [Array] the results, in the order of the calls
      # @raise (see #call)
      def map(method, lists, limit: Mapping::WINDOW, timeout: @timeout, deadline: nil)
        raise UsageError, "map takes lists of arguments, not #{lists.inspect}" unless lists.respond_to?(:each_slice)

        Mapping.new(method, limit) { |arguments| send_many(method, arguments, timeout, deadline) }.run(lists)
      end

      # @return [Proxy] an object whose methods are the server's: `client.proxy.add(1, 2)`
      # @param timeout [Numeric, nil] seconds for each call
      # @raise [UsageError]
      def proxy(timeout: @timeout) = Proxy.new(self, timeout && Future.seconds(timeout))

      # @!group Connection

      # Connects, where the first call would: a client with a handler is called from then on.
      # @return [self]
      # @raise (see #call)
      def open
        @link.connection(limit(@timeout, nil))
        self
      end

      # @return [Boolean] whether there is a connection now
      def connected? = @link.current&.usable? || false

      # @return [Integer] calls without an answer
      def pending = connected? ? @link.current.pending : 0

      # Closes the connection: calls without an answer raise {ConnectionClosed}. In a fork, the parent's goes on.
      # @return [void]
      def close = @link.close

      # @return [Boolean]
      def closed? = @link.closed? || false

      # @return [String]
      def inspect = "#<#{self.class} #{@endpoint}#{" closed" if closed?}>"

      private

      # (The client's own timeout is checked already.)
      def limit(timeout, deadline)
        moment = timeout.equal?(@timeout) ? Deadline.now + timeout : after(timeout) if timeout
        return moment unless deadline

        moment ? [moment, deadline.at].min : deadline.at
      end

      def after(seconds) = Deadline.now + Future.seconds(seconds)

      def send_many(method, lists, timeout, deadline)
        limit = limit(timeout, deadline)
        on_connection(limit) { |connection| connection.batch(method, lists, limit: limit) }
      end

      # An unsent call is tried once more: a connection at rest may have ended unnoticed.
      def on_connection(limit)
        tries = 0
        begin
          yield @link.connection(limit)
        rescue ConnectionClosed, RemoteProtocolError => e
          raise if !e.retry_safe? || closed? || (tries += 1) >= TRIES

          retry
        end
      end
    end

    # An object with the methods of a server. Methods that Ruby itself calls (`puts proxy`, `[proxy].flatten`, `case
    # proxy`) stay here; {Client#call} reaches the server's.
    #
    # @example
    #   calculator = client.proxy
    #   calculator.add(1, 2)
    class Proxy < BasicObject
      # Ruby converts an object that has one of these methods.
      CONVERSIONS = %i[to_a to_ary to_c to_enum to_f to_hash to_i to_int to_io to_json to_msgpack to_open to_path to_proc to_r
                       to_regexp to_str to_sym to_yaml as_json coerce encode_with marshal_dump _dump exception <=> divmod].freeze
      %i[=== eql? frozen? hash instance_of? is_a? kind_of? nil? object_id].each do |name|
        define_method(name, ::Kernel.instance_method(name))
      end

      # @param client [Client]
      # @param timeout [Numeric, nil] seconds for each call
      # @api private
      def initialize(client, timeout)
        @client = client
        @timeout = timeout
      end

      # @return [String]
      def inspect = "#<Plait::RPC::Proxy #{@client.endpoint}>"

      alias to_s inspect

      # For `pp` and IRB, which would ask the server.
      # @api private
      def pretty_print(printer) = printer.text(inspect)

      # @api private
      alias pretty_print_cycle pretty_print

      # @return [Boolean]
      def respond_to?(name, *) = respond_to_missing?(name)

      # @api private
      def respond_to_missing?(name, _private = false) = !CONVERSIONS.include?(name.to_sym)

      private

      def method_missing(name, *arguments, **named)
        if CONVERSIONS.include?(name)
          ::Kernel.raise(::NoMethodError.new("#{inspect} has no #{name} here: ask the server by call", name, receiver: self))
        end

        arguments << named unless named.empty?
        @client.call(name, *arguments, timeout: @timeout)
      end
    end
    private_constant :Proxy
  end
end
