# frozen_string_literal: true

require "etc"
require_relative "connection"
require_relative "exposure"
require_relative "future"
require_relative "handler"
require_relative "server/backlog"
require_relative "server/prefork"
require_relative "server/shift"
require_relative "server/switchboard"
require "plait/io/checked_options"
require "plait/io/endpoint"
require "plait/io/listener"
require "plait/io/stop_signal"
# The last: it would load what is loaded here when it is asked for.
require "plait"

module Plait
  module RPC
    # @return [Incoming, nil] the request or notification that runs in this thread or fiber: by its connection the method can
    #   call its caller
    def self.current
      running = Thread.current[:plait_rpc_incoming]
      running.is_a?(Array) ? NativeBatch.incoming(running) : running
    end

    # Serves an object's methods to MessagePack-RPC peers.
    #
    # @example
    #   class Calculator
    #     def add(a, b) = a + b
    #   end
    #   server = Plait::RPC::Server.new(Calculator.new, on: :fibers)
    #   server.listen("127.0.0.1", 18_800)
    #   trap(:TERM) { server.stop }
    #   server.run
    #
    # On processes, the one that calls {#run} is the master: it starts worker processes, each with a copy of the handler, and
    # replaces dead ones. Its signals are the program's business; when it ends, its workers end too.
    class Server
      # The methods by which peers ask for a server's state; their names begin with "rpc.".
      # @api private
      class Introspection
        METHODS = { "rpc.methods" => :list, "rpc.ping" => :ping, "rpc.stats" => :statistics }.freeze

        def self.of(server) = Exposure.of(new(server), methods: METHODS)

        def initialize(server)
          @server = server
        end

        # @return [Hash{String => Hash}] of each method the number of arguments, at least and at most (nil: any number), and
        #   their names
        def list
          @server.handler.methods.transform_values do |callable|
            { "arity" => callable.arity, "parameters" => callable.parameters.map { |one| one.compact.map(&:name) } }
          end
        end

        def ping = "pong"

        def statistics = @server.statistics.transform_keys(&:name)
      end

      Options = Struct.new(:on, :limit, :queue, :pipeline, :connections, :outbox, :limits, :codec, :raw, :secret,
                           :idle_timeout, :message_timeout, :write_timeout, :handshake_timeout, :workers, keyword_init: true)

      # See {Server#initialize}.
      # @api private
      class Options
        include Io::CheckedOptions

        # In messages.
        OWNER = "an RPC server"
        DEFAULTS = {
          on: :threads, limit: nil, queue: 1024, pipeline: 256, connections: nil, outbox: Connection::OUTBOX, limits: {},
          codec: nil, raw: false, secret: nil, idle_timeout: nil, message_timeout: 30, write_timeout: 30,
          handshake_timeout: 10, workers: nil
        }.freeze
        # Methods that run at once, if `limit:` is not given: a thread costs more than a fiber.
        LIMITS = { threads: 32, fibers: 1024, hybrid: 1024 }.freeze

        # @raise [UsageError]
        def complete
          check
          self.limit ||= LIMITS.fetch(inner)
          self.workers ||= Etc.nprocessors
          self.limits = Protocols::MessagePackRPC.limits(limits)
          self.codec ||= Protocols::MessagePackRPC::Codec.new(raw: raw, largest: Connection.largest(limits))
          self
        end

        # @return [Symbol] what runs the methods, in each process
        def inner = processes? ? Array(on)[1] || :threads : Array(on).first

        def processes? = Array(on).first == :processes

        # @return [Hash{Integer => Numeric}] seconds, by queue of the {Switchboard}
        def timeouts
          { Switchboard::IDLE => idle_timeout, Switchboard::PARTIAL => message_timeout, Switchboard::STALLED => write_timeout }
            .compact
        end

        private

        def check
          unless LIMITS.key?(inner) && Array(on).size <= (processes? ? 2 : 1)
            raise UsageError, "a server runs on: :threads, :fibers, :hybrid or :processes (or [:processes, :fibers] …), " \
                              "not #{on.inspect}"
          end

          check_counts(:limit, :queue, :pipeline, :connections, :workers)
          check_bytes(:outbox)
          check_seconds(*DEFAULTS.keys.grep(/_timeout\z/))
        end
      end

      private_constant :Introspection, :Options

      # Seconds that running methods have when the server ends; raising it delays the end.
      DRAIN = 10

      # @return [Handler]
      attr_reader :handler

      # @param handler [Object, Module, Hash{String => #call}] with the methods: public ones of the program, see {Exposure}. By
      #   its block, or `yield`, a method answers before its end; by a {Delayed} result it answers later. A {Handler} is taken as
      #   it is.
      # @param methods [Array<String, Symbol>, Hash, nil] exactly these, instead
      # @param errors [Symbol, #call] the form of errors: :string, :pair, :named, see {ErrorFormat}
      # @param on_error [#call, nil] called with each exception of a method and its {Incoming}; and with broken rules of peers,
      #   see {Handler#initialize}
      # @param introspection [Boolean] whether peers may call rpc.methods, rpc.ping and rpc.stats
      # @param options [Hash]
      # @option options [Symbol, Array<Symbol>] :on :threads, :fibers, :hybrid, :processes, or [:processes, :fibers] …
      # @option options [Integer, nil] :limit methods that run at once, in each process
      # @option options [Integer] :queue requests that wait, of all connections; then nothing more is read
      # @option options [Integer] :pipeline requests of one connection that wait or run; then nothing more is read from it
      # @option options [Integer, nil] :connections at most; others wait in the kernel
      # @option options [Integer] :outbox bytes that wait for a peer to read them; then no more of its requests run
      # @option options [Hash] :limits of received messages: message, nesting, elements, method_name
      # @option options [Protocols::MessagePackRPC::Codec] :codec with extension types, say
      # @option options [Boolean] :raw for old peers: strings without str 8 and bin
      # @option options [String, nil] :secret that a connection has to show first, by `rpc.authenticate(secret)`
      # @option options [Numeric, nil] :idle_timeout seconds without a message after which a connection is closed
      # @option options [Numeric, nil] :message_timeout seconds for each 64 KiB of a message
      # @option options [Numeric, nil] :write_timeout seconds that a peer may read nothing of what waits for it
      # @option options [Numeric] :handshake_timeout seconds for TLS
      # @option options [Integer, nil] :workers processes; as many as processors. `limit`, `queue` and `connections` hold for
      #   each of them
      # @raise [UsageError]
      def initialize(handler, methods: nil, errors: :string, on_error: nil, introspection: true, **options)
        @options = Options.build(options)
        extra = introspection ? Introspection.of(self) : {}
        @handler = handler if Handler === handler # rubocop:disable Style/CaseEquality -- a BasicObject has no is_a?
        @handler ||= Handler.new(handler, methods: methods, errors: errors, extra: extra, on_error: on_error)
        @listeners = []
        @stop_signal = Io::StopSignal.new
      end

      # Opens a socket; connections wait there until {#run}.
      # @overload listen(host, port, **options)
      # @overload listen(url, **options)
      #   @param url [String, Io::Endpoint] as "tcp://127.0.0.1:18800", "unix:///run/app.sock", "tls://0.0.0.0:18801"
      # @param tls [Hash, Io::TLS::Server, nil] for tls://, see {Io::TLS::Server#initialize}: certificate and key, and whether
      #   clients have to show a certificate of theirs
      # @param options [Hash] see {Io::Listener.open}
      # @return [Io::Endpoint] with its port
      # @raise [ListenError]
      def listen(host, port = nil, tls: nil, **options)
        endpoint = port ? Io::Endpoint.tcp(host, port) : Io::Endpoint.parse(host)
        raise UsageError, Connection.no_datagrams(endpoint) if endpoint.udp?

        @listeners << Io::Listener.open(endpoint, tls: tls.is_a?(Hash) ? tls_server(tls) : tls, **options)
        @listeners.last.endpoint
      end

      # @return [Array<Io::Endpoint>]
      def endpoints = @listeners.map(&:endpoint)

      # Serves until {#stop}.
      # @return [void]
      # @raise [UsageError] when it listens nowhere, or has run before
      def run
        raise UsageError, "the server listens nowhere: call listen first" if @listeners.empty?
        raise UsageError, "a server runs once" if @ran

        mine = @ran = true
        serve
      ensure
        [*@work, @stop_signal, *@listeners].each(&:close) if mine
      end

      # {#run} in a thread of its own.
      # @return [Thread]
      def start = Thread.new { run }.tap { |thread| thread.name = "plait: rpc server" }

      # Ends {#run}: new requests are refused, earlier ones answered as far as there is time, and connections closed. Does not
      # wait for that. From any thread, fiber or signal handler.
      # @param within [Numeric] seconds
      # @return [void]
      def stop(within: DRAIN) = @stop_signal.stop(Deadline.after(within && Future.seconds(within)))

      # @return [Hash{Symbol => Integer}] of all processes together
      def statistics = @work&.statistics || {}

      # @return [Array<Integer>] ids of its worker processes
      def workers = @options.processes? && @work ? @work.pids : []

      # @return [String]
      def inspect = "#<#{self.class} #{endpoints.join(" ")}>"

      private

      # OpenSSL takes longer to load than all the rest.
      def tls_server(options)
        require "plait/io/tls"
        Io::TLS::Server.new(**options)
      end

      def serve
        return serve_by_processes if @options.processes?

        Plait.run(on: @options.inner, on_error: :collect) do |scope|
          @work = Shift.new(scope, @options, @handler, @listeners, @stop_signal)
          @work.run
        end
      end

      # In a worker, `statistics` and `stop` concern all of them.
      def serve_by_processes
        @work = Prefork.new(@options, @handler, @listeners, @stop_signal) { |member| @work = @stop_signal = member }
        @work.run
      end
    end
  end
end
