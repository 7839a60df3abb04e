# frozen_string_literal: true

module Plait
  module Shard
    # Where each command of Redis has its keys, from a server's own answer to COMMAND (7.0 and newer), for the data plane.
    class CommandTable
      # A command or a subcommand ("object|encoding").
      Entry = Struct.new(:name, :arity, :flags, :specs)
      # Positions of keys: they begin at an index or after a keyword, and are a range or counted by an argument. The numbers are
      # as in Redis: lastkey, keystep and limit, or keynumidx, firstkey and keystep.
      Spec = Struct.new(:keyword, :start, :find, :first, :second, :third)

      # Flags and specifications that the data plane uses.
      FLAGS = %w[write readonly blocking pubsub admin].freeze
      SPECS = 3
      NUMBERS = { "range" => %w[lastkey keystep limit], "keynum" => %w[keynumidx firstkey keystep] }.freeze

      # @return [Array<Entry>] by name
      attr_reader :entries

      # @param reply [Array] the decoded answer to COMMAND
      # @raise [UsageError] an older Redis has answered
      def initialize(reply)
        @entries = reply.flat_map { |command| entries_of(command) }.sort_by(&:name)
      end

      private

      def entries_of(command)
        raise UsageError, "the server's COMMAND has no specifications of keys, as that of Redis 7 has" if command.size < 10

        own = Array(command[9]).flat_map { |subcommand| entries_of(subcommand) }
        specs = command[8].map { |spec| spec_of(pairs(spec)) }
        flags = command[2] & FLAGS
        flags << "container" if own.any?
        flags << "unclear" if specs.include?(nil) || specs.size > SPECS
        [Entry.new(command[0].downcase, command[1], flags, specs.compact.first(SPECS)), *own]
      end

      # A map is an array of names and values in RESP2.
      def pairs(value) = value.is_a?(Hash) ? value : Hash[*value]

      # @return [Spec, nil] nil: the server does not describe the positions
      def spec_of(spec)
        search, find = spec.values_at("begin_search", "find_keys").map { |part| pairs(part) }
        return if search["type"] == "unknown" || find["type"] == "unknown"

        where = pairs(search["spec"])
        numbers = pairs(find["spec"]).values_at(*NUMBERS.fetch(find["type"]))
        Spec.new(where["keyword"], where["index"] || where["startfrom"], find["type"], *numbers)
      end
    end

    # Asks each master once for its version, for clients, and for its commands: the data plane's table lacks commands of modules
    # and of newer servers.
    class NodeSurvey
      # Seconds that a start waits for answers, so that the first clients find all commands.
      PATIENCE = 0.25
      # Seconds until unreachable and new masters are asked.
      PERIOD = 5

      # @param plane [NativeShard::Plane] a running one
      # @param lasting [Boolean] whether there may be new masters later
      # @yieldreturn [Array<Node>] the current masters
      def initialize(plane, access, lasting:, period: PERIOD, &masters)
        @plane = plane
        @access = access
        @period = period
        @masters = masters
        @asked = []
        @versions = []
        @lock = Mutex.new
        begin_with(ask_all, lasting)
      end

      def close
        @thread.kill.join
        @asking.each { |thread| thread.kill.join }
      end

      private

      def begin_with(first, lasting)
        @thread = Thread.new { go_on(first, lasting) }
        deadline = Deadline.now + PATIENCE
        first.each { |thread| thread.join([deadline - Deadline.now, 0].max) }
        complete = true
      ensure
        close unless complete # an interrupt: the caller gets no survey to close
      end

      def go_on(asking, lasting)
        loop do
          asking.each(&:join)
          break unless lasting || unasked.any?

          sleep(@period)
          asking = ask_all
        end
      end

      def unasked = @masters.call.reject { |node| @asked.include?(node.to_s) }

      def ask_all = @asking = unasked.map { |node| Thread.new { ask(node) } }

      def ask(node)
        NodeConnection.open(node, @access) do |connection|
          take_version(connection)
          learn(connection)
        end
        asked(node)
      rescue ConnectionError, TimeoutError
        nil # the node is asked again
      rescue StandardError
        asked(node) # the node refuses, or has answered nonsense
      end

      def asked(node) = @lock.synchronize { @asked |= [node.to_s] }

      # The oldest version counts: all nodes have its commands.
      def take_version(connection)
        version = connection.call("INFO", "server")[/^redis_version:(\d+\.\d+\.\d+)/, 1] or return
        @lock.synchronize do
          @versions |= [version.split(".").map { |part| Integer(part, 10) }]
          @plane.tell_version(*@versions.min)
        end
      end

      # Names of commands first, then the unknown commands: descriptions of all would be a hundred times as many bytes.
      def learn(connection)
        names = connection.call("COMMAND", "LIST").reject { |name| NativeShard::Plane.keys_of(name.downcase.split("|")) }
        return if names.empty?

        CommandTable.new(connection.call("COMMAND", "INFO", *names).compact).entries.each do |entry|
          NativeShard::Plane.learn(entry.name, entry.arity, entry.flags, entry.specs.map(&:to_a))
        end
      end
    end
    private_constant :CommandTable, :NodeSurvey
  end
end
