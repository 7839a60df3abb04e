# frozen_string_literal: true

require_relative "root"

module Support
  # The table of Redis' commands as initializers of struct shard_command in C, for `rake shard:commands` and its tests. A server
  # describes a command and its keys. The columns behind them, from `.way` on, are written by hand, and stay.
  module CommandRows
    FOLDER = File.join(ROOT, "plait-shard/ext/plait_shard/shard_data")
    MADE = File.join(FOLDER, "shard_commands.inc")
    ADDED = File.join(FOLDER, "shard_commands_newer.inc")
    HEADER = "/* `rake shard:commands` makes it from a redis-server's answer to COMMAND, and keeps the columns from .way on. */\n"
    USUAL = ".way = SHARD_USUAL"
    # COMMAND omits the subcommands of these; ADDED has them.
    CONTAINERS = %w[debug].freeze

    module_function

    # @param entries [Array<Plait::Shard::CommandTable::Entry>]
    # @return [Array<String>] lines
    def of(entries) = entries.map { |entry| "#{row(entry)}, #{columns(MADE).fetch(entry.name, USUAL)}},\n" }

    # @param path [String] MADE or ADDED
    # @return [Hash{String => String}] of each command the columns from `.way` on
    def columns(path) = File.read(path).scan(/^{"([^"]+)".*\}\}, (\.way = .*)\},$/).to_h

    def row(entry)
      flags = (entry.flags | (CONTAINERS.include?(entry.name) ? %w[container] : [])).map { |flag| "SHARD_#{flag.upcase}" }
      specs = entry.specs.map { |spec| spec(spec) }.join(", ")
      %({"#{entry.name}", #{entry.arity}, #{flags.empty? ? "0" : flags.join(" | ")}, #{entry.specs.size}, ) +
        "{#{specs.empty? ? "{0}" : specs}}"
    end

    def spec(spec)
      keyword = spec.keyword ? %("#{spec.keyword}") : "NULL"
      "{#{keyword}, #{spec.start}, SHARD_#{spec.find.upcase}, #{spec.first}, #{spec.second}, #{spec.third}}"
    end
    private_class_method :row, :spec
  end
end
