# frozen_string_literal: true

require "plait/values/errors"

module Plait
  module Shard
    # Where each command of Redis has its keys, from a server's own answer to COMMAND (7.0 and newer), for the data plane.
    class CommandTable
      # A command, or one of a command's own ("object|encoding").
      Entry = Struct.new(:name, :arity, :flags, :specs)
      # Where keys are: they begin at an index or behind a keyword, and are a range or as many as a number says. The numbers are
      # those of Redis: lastkey, keystep and limit, or keynumidx, firstkey and keystep.
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
  end
end
