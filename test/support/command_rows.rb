# frozen_string_literal: true

module Support
  # The table of Redis' commands as initializers of struct shard_command in C, for `rake shard:commands` and its test.
  module CommandRows
    HEADER = "/* Made by `rake shard:commands` from the answer of a redis-server to COMMAND. */\n"

    module_function

    # @param entries [Array<Plait::Shard::CommandTable::Entry>]
    # @return [Array<String>] lines
    def of(entries) = entries.map { |entry| "#{row(entry)},\n" }

    def row(entry)
      flags = entry.flags.map { |flag| "SHARD_#{flag.upcase}" }.join(" | ")
      specs = entry.specs.map { |spec| spec(spec) }.join(", ")
      %({"#{entry.name}", #{entry.arity}, #{flags.empty? ? "0" : flags}, #{entry.specs.size}, ) +
        "{#{specs.empty? ? "{0}" : specs}}, 0, 0}"
    end

    def spec(spec)
      keyword = spec.keyword ? %("#{spec.keyword}") : "NULL"
      "{#{keyword}, #{spec.start}, SHARD_#{spec.find.upcase}, #{spec.first}, #{spec.second}, #{spec.third}}"
    end
    private_class_method :row, :spec
  end
end
