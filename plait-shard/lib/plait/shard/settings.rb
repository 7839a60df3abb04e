# frozen_string_literal: true

require "yaml"
require_relative "topology"
require_relative "sources/cluster"
require_relative "sources/sentinels"

module Plait
  module Shard
    # The options of a {Proxy} except its listening addresses, checked and frozen; a reload makes a new object. A file of YAML
    # has the options of a proxy:
    #
    #     nodes: [10.0.0.1:6379, 10.0.0.2:6379:2]
    #     listen: 0.0.0.0:6380
    #     placement: twemproxy
    #     tag: "{}"
    #
    # Instead of such nodes, it names nodes with replicas, a cluster, or Sentinels:
    #
    #     nodes: [{master: 10.0.0.1:6379, replicas: [10.0.0.3:6379]}]
    #     cluster: [10.0.0.1:6379, 10.0.0.2:6379]
    #     sentinels: [10.0.0.1:26379]
    #     masters: [first, second]
    #     reads: replicas
    class Settings
      # Options except the options of the placement.
      DEFAULTS = {
        connect_timeout: 1.0, timeout: 10.0, retry: 0.5, slow: 0.1, hot: 10.0, client_bytes: 256 << 20, thread_bytes: 1 << 30,
        clients: 50_000, strategy: :auto, chunk: 64 << 10
      }.freeze
      # Bytes from which on a value is forwarded while it arrives. `:auto` raises small chunks to 64 KiB: each forwarded value
      # needs a connection of its own.
      STRATEGIES = { strict: ->(_chunk) { 0 }, lazy: ->(chunk) { chunk }, auto: ->(chunk) { [chunk, 64 << 10].max } }.freeze
      # Bytes of a chunk: at least the head of a command with its key, at most one read of a thread.
      CHUNKS = (1024..(256 << 10))
      # Passwords and users.
      ACCESS = { password: nil, node_user: nil, node_password: nil }.freeze
      # Further permissions of clients.
      SWITCHES = { users: false, config: false, keyless_scripts: false }.freeze
      # Options that name nodes.
      BACK_ENDS = { nodes: nil, cluster: nil, sentinels: nil, masters: nil, sentinel_password: nil, reads: :master }.freeze
      READS = %i[master replicas any].freeze
      # Bytes of a secret, and largest values, that fit the structs of the data plane.
      SECRET_BYTES = 511
      LARGEST = { client_bytes: (1 << 62) - 1, thread_bytes: (1 << 62) - 1, clients: (1 << 31) - 1 }.freeze
      LEAST = { clients: 1 }.freeze
      PLACEMENT = %i[hash distribution tag].freeze
      NAMES = [:placement, *PLACEMENT, *[DEFAULTS, ACCESS, SWITCHES, BACK_ENDS, Encryption::OPTIONS].flat_map(&:keys)].freeze
      # Options with a Symbol as value.
      SYMBOLS = %i[placement hash distribution strategy reads].freeze
      # Tags that are rules instead of two delimiters.
      TAGS = %w[last_brace first_brace].freeze

      class << self
        # @param also [Array<Symbol>] options in the file that are not of a {Proxy}
        # @return [Hash{Symbol => Object}] for {Proxy#initialize}
        def read(path, also: [])
          options = YAML.safe_load_file(path)
          unless options.is_a?(Hash)
            raise UsageError, "#{path}: must be options with values, such as nodes: [HOST:PORT, HOST:PORT]"
          end

          options = options.transform_keys { |name| name.to_s.to_sym }
          check(path, options, [:listen, :threads, :metrics, *NAMES, *also])
          options.to_h { |name, value| [name, value_of(name, value)] }
        rescue SystemCallError => e
          raise UsageError, "can't read #{path}: #{SystemReason.of(e)}"
        rescue Psych::Exception => e
          raise UsageError, "#{path} is not YAML: #{e.message}"
        end

        # @param name [Symbol] of an option
        # @param value [Object] from a file or a command line
        def value_of(name, value) = SYMBOLS.include?(name) || (name == :tag && TAGS.include?(value)) ? value.to_s.to_sym : value

        private

        def check(path, options, known)
          odd = options.keys - known
          raise UsageError, "#{path}: no option #{odd.first.inspect[1..]}; there are #{known.join(", ")}" if odd.any?

          empty = options.key(nil)
          raise UsageError, "#{path}: #{empty}: has no value" if empty
        end
      end

      attr_reader :source, :options, :encryption

      # @raise [UsageError]
      def initialize(placement: nil, **options)
        rule = { rule: placement, **options.slice(*PLACEMENT) }.compact
        @options = DEFAULTS.merge(ACCESS, SWITCHES, BACK_ENDS, Encryption::OPTIONS, options.except(*PLACEMENT)).freeze
        UsageError.check_names(@options, NAMES, "a proxy")
        check_back_ends(rule)
        check_buffers(**@options.slice(:strategy, :chunk))
        check_numbers
        check_access
        check_switches
        @encryption = Encryption.new(**@options.slice(*Encryption::OPTIONS.keys))
        @source = find_source(rule)
      end

      # A copy reads its topology again.
      def initialize_copy(_other)
        super
        @topology = nil
      end

      def access
        NodeAccess.new(@encryption, timeout: @options[:connect_timeout], user: @options[:node_user],
                                    password: @options[:node_password])
      end

      # @return [Topology] the first one that was read
      # @raise [ConnectionError, RemoteError, TimeoutError] no node of a cluster, or no Sentinel, answers
      def topology = @topology ||= source.read

      def placement = topology.placement

      # @return [Array<(String, String)>] for each node: its packed address, and its name
      # @raise [ResolveError]
      def addresses(topology = self.topology) = topology.masters.map { |node| [access.address(node).to_sockaddr, node.to_s] }

      # @param encrypts [Boolean] whether clients speak TLS
      # @param room [Integer] for nodes
      # @param plan [Array] of {NodeNumbers}
      # @return [Hash{Symbol => Object}] for the data plane
      # @raise [UsageError, UnsupportedError]
      def native_options(encrypts, room:, plan:)
        chunk = STRATEGIES.fetch(@options[:strategy]).call(@options[:chunk])
        @options.merge(chunk: chunk, strict: @options[:strategy] == :strict, room: room, plan: plan, watched: source.watched?,
                       cluster: source.cluster?, node_tls: @encryption.of_nodes, listen_tls: @encryption.of_clients(encrypts))
      end

      # @param former [Topology] that it has now
      # @return [Boolean] whether each key is at the same address with both
      def same_places?(other, former)
        addresses == addresses(former) && placement.same_as?(former.placement) && source.cluster? == other.source.cluster?
      end

      private

      def check_back_ends(rule)
        given = @options.slice(:nodes, :cluster, :sentinels).compact.keys
        raise UsageError, "give one of nodes:, cluster: and sentinels:, not #{given.join(" and ")}" if given.size > 1
        raise UsageError, "there are no servers: give nodes:, cluster: or sentinels:" if given.empty?

        check_names_and_rule(given.first, rule)
        return if READS.include?(@options[:reads])

        raise UsageError, "reads: is one of #{READS.join(", ")}, not #{@options[:reads].inspect}"
      end

      def check_names_and_rule(back_end, rule)
        named = @options[:masters] && back_end != :sentinels
        raise UsageError, "masters: are names that Sentinels know; give sentinels: too" if named
        return unless back_end == :cluster && rule.any?

        raise UsageError, "a cluster places keys by itself: leave out #{rule.keys.join(", ").sub("rule", "placement")}"
      end

      def find_source(rule)
        return Sources::Fixed.new(@options[:nodes], rule) if @options[:nodes]
        return Sources::Cluster.new(@options[:cluster], access) if @options[:cluster]

        Sources::Sentinels.new(*@options.values_at(:sentinels, :masters), rule, access, password: @options[:sentinel_password])
      end

      def check_buffers(strategy:, chunk:)
        return if STRATEGIES.key?(strategy) && chunk.is_a?(Integer) && CHUNKS.cover?(chunk)

        raise UsageError, "strategy: is one of #{STRATEGIES.keys.join(", ")}, and chunk: from #{CHUNKS.min} to #{CHUNKS.max} " \
                          "bytes, not #{strategy.inspect} and #{chunk.inspect}"
      end

      def check_numbers
        @options.slice(*DEFAULTS.keys - [:strategy]).each do |name, value|
          whole = DEFAULTS.fetch(name).is_a?(Integer)
          least = LEAST.fetch(name, 0)
          fits = (whole ? value.is_a?(Integer) : value.is_a?(Numeric)) && value >= least
          raise UsageError, "#{name}: is #{whole ? "a number" : "seconds"}, at least #{least}, not #{value.inspect}" unless fits

          most = LARGEST[name]
          raise UsageError, "#{name}: is #{most} at most, not #{value}" if most && value > most
        end
      end

      # The message does not show the secret.
      def check_access
        %i[password node_user node_password sentinel_password].each do |name|
          value = @options[name]
          fits = value.is_a?(String) && (1..SECRET_BYTES).cover?(value.bytesize) && !value.include?("\0")
          raise UsageError, "#{name}: is a text of 1 to #{SECRET_BYTES} bytes, or nil" unless value.nil? || fits
        end
        raise UsageError, "node_user: needs node_password: too" if @options[:node_user] && !@options[:node_password]
      end

      def check_switches
        odd = SWITCHES.keys.find { |name| ![true, false].include?(@options[name]) }
        raise UsageError, "#{odd}: is true or false, not #{@options[odd].inspect}" if odd
      end
    end
    private_constant :Settings
  end
end
