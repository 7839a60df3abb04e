# frozen_string_literal: true

require_relative "native"
require_relative "node_connection"
require "plait/values/errors"

module Plait
  module Shard
    # Where each command of Redis has its keys, from a server's own answer to COMMAND (7.0 and newer), for the data plane.
    class CommandTable
      # A command, or one of a command's own ("object|encoding").
      Entry = Struct.new(:name, :arity, :flags, :specs)
      # Where keys are: they begin at an index or behind a keyword, and are a range or as many as a number says. The numbers are
      # as in Redis: lastkey, keystep and limit, or keynumidx, firstkey and keystep.
      Spec = Struct.new(:keyword, :start, :find, :first, :second, :third)

      # What the data plane wants to know.
      FLAGS = %w[write readonly blocking pubsub admin].freeze
      SPECS = 3
      # What COMMAND does not tell: DEBUG has commands of its own, and some of them name keys.
      DEBUG_OF_KEYS = { "object" => 0, "digest-value" => -1, "listpack" => 0, "sdslen" => 0 }.freeze
      DEBUG_OF_ALL = %w[set-active-expire quicklist-packed-threshold set-disable-deny-scripts sleep reload loadaof log protocol
                        stringmatch-len].freeze
      NUMBERS = { "range" => %w[lastkey keystep limit], "keynum" => %w[keynumidx firstkey keystep] }.freeze

      # @return [Array<Entry>] by name
      attr_reader :entries

      # @param reply [Array] what COMMAND has answered, decoded
      # @raise [UsageError] when it is of an older Redis
      def initialize(reply)
        @entries = reply.flat_map { |command| entries_of(command) }.sort_by(&:name)
      end

      # @return [String] an initializer for struct shard_command in C
      def to_c
        "/* Made by `rake shard:commands` from the answer of a redis-server to COMMAND. */\n" +
          entries.map { |entry| "#{c_of(entry)},\n" }.join
      end

      private

      def entries_of(command)
        raise UsageError, "the server's COMMAND tells no specifications of keys, as that of Redis 7 does" if command.size < 10

        own = own_entries(command)
        specs = command[8].map { |spec| spec_of(pairs(spec)) }
        flags = command[2] & FLAGS
        flags << "container" if own.any?
        flags << "unclear" if specs.include?(nil) || specs.size > SPECS
        [Entry.new(command[0].downcase, command[1], flags, specs.compact.first(SPECS)), *own]
      end

      def own_entries(command)
        command[0].casecmp?("debug") ? debug_entries : Array(command[9]).flat_map { |sub| entries_of(sub) }
      end

      def debug_entries
        keyed = DEBUG_OF_KEYS.transform_values { |last| [Spec.new(nil, 2, "range", last, 1, 0)] }
        plain = DEBUG_OF_ALL.to_h { |name| [name, []] }
        keyed.merge(plain).map { |name, specs| Entry.new("debug|#{name}", -2 - specs.size, %w[admin], specs) }
      end

      # A map is an array of names and values in RESP2.
      def pairs(value) = value.is_a?(Hash) ? value : Hash[*value]

      # @return [Spec, nil] nil: it depends on what can't be seen from outside
      def spec_of(spec)
        search, find = spec.values_at("begin_search", "find_keys").map { |part| pairs(part) }
        return if search["type"] == "unknown" || find["type"] == "unknown"

        where = pairs(search["spec"])
        numbers = pairs(find["spec"]).values_at(*NUMBERS.fetch(find["type"]))
        Spec.new(where["keyword"], where["index"] || where["startfrom"], find["type"], *numbers)
      end

      def c_of(entry)
        flags = entry.flags.map { |flag| "SHARD_#{flag.upcase}" }.join(" | ")
        flags = "0" if flags.empty?
        specs = entry.specs.map { |spec| c_of_spec(spec) }.join(", ")
        specs = "{0}" if specs.empty?
        %({"#{entry.name}", #{entry.arity}, #{flags}, #{entry.specs.size}, {#{specs}}, 0, 0})
      end

      def c_of_spec(spec)
        keyword = spec.keyword ? %("#{spec.keyword}") : "NULL"
        "{#{keyword}, #{spec.start}, SHARD_#{spec.find.upcase}, #{spec.first}, #{spec.second}, #{spec.third}}"
      end
    end

    # Asks masters, each once, for what the data plane should know of them: their version, which it tells clients, and their
    # commands: its table lacks commands of modules and of newer servers.
    # @api private
    class NodeSurvey
      # Seconds that a start waits for them, so that the first clients find all commands.
      PATIENCE = 0.25
      # Seconds until unreachable and new masters are asked.
      PERIOD = 5

      # @param plane [NativeShard::Plane] that runs
      # @param access [NodeAccess]
      # @param lasting [Boolean] whether other masters may come
      # @param period [Numeric]
      # @yieldreturn [Array<Node>] the masters as they are now
      def initialize(plane, access, lasting:, period: PERIOD, &masters)
        @plane = plane
        @access = access
        @period = period
        @masters = masters
        @asked = []
        @versions = []
        @lock = Mutex.new
        first = ask_all
        @thread = Thread.new { go_on(first, lasting) }
        deadline = now + PATIENCE
        first.each { |thread| thread.join([deadline - now, 0].max) }
      end

      # @return [void]
      def close
        @thread.kill.join
        @asking.each { |thread| thread.kill.join }
      end

      private

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
        nil # it is asked again
      rescue StandardError
        asked(node) # it does not say, or nonsense
      end

      def asked(node) = @lock.synchronize { @asked |= [node.to_s] }

      # The oldest: what that can do all can.
      def take_version(connection)
        version = connection.call("INFO", "server")[/^redis_version:(\d+\.\d+\.\d+)/, 1] or return
        @lock.synchronize do
          @versions |= [version.split(".").map { |part| Integer(part, 10) }]
          @plane.tell_version(*@versions.min)
        end
      end

      # Those that are not known, by names first: all of them would be a hundred times as many bytes.
      def learn(connection)
        names = connection.call("COMMAND", "LIST").reject { |name| NativeShard::Plane.keys_of(name.downcase.split("|")) }
        return if names.empty?

        CommandTable.new(connection.call("COMMAND", "INFO", *names).compact).entries.each do |entry|
          NativeShard::Plane.learn(entry.name, entry.arity, entry.flags, entry.specs.map(&:to_a))
        end
      end

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
    private_constant :NodeSurvey
  end
end
