# frozen_string_literal: true

require_relative "../values/errors"

module Plait
  module DB
    # Values in the text of a statement of MySQL, in the place of its question marks: for what has no prepared statements, or
    # has none that fibers can wait for.
    module Placeholders
      # What a question mark means nothing in: strings, quoted names and comments.
      OPAQUE = %r{'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|`[^`]*`|/\*.*?\*/|--(?=\s|\z)[^\n]*|\#[^\n]*}m
      TOKEN = /#{OPAQUE}|\?/m
      private_constant :OPAQUE, :TOKEN

      module_function

      # @param sql [String]
      # @param values [Array]
      # @yieldparam text [String]
      # @yieldreturn [String] a literal of the server, quoted and escaped
      # @return [String]
      # @raise [UsageError] when there are more or fewer of them than question marks, or one is of no type of SQL
      def fill(sql, values, &quote)
        return sql if values.empty?

        rest = values.dup
        filled = sql.gsub(TOKEN) { |token| token == "?" ? literal(take(rest, sql), &quote) : token }
        raise UsageError, "#{values.size} values are too many for the placeholders of #{sql}" unless rest.empty?

        filled
      end

      def take(rest, sql)
        raise UsageError, "there are not enough values for the placeholders of #{sql}" if rest.empty?

        rest.shift
      end

      def literal(value, &quote)
        case value
        when nil then "NULL"
        when true then "1"
        when false then "0"
        when Integer then value.to_s
        when Float then number(value)
        when String, Symbol then text(value.to_s, &quote)
        else other(value, &quote)
        end
      end

      def number(float)
        raise UsageError, "SQL has no #{float}" unless float.finite?

        float.to_s
      end

      # Bytes are no text: as hexadecimal they reach the server as they are.
      def text(string)
        string.encoding == Encoding::BINARY && !string.ascii_only? ? "x'#{string.unpack1("H*")}'" : yield(string)
      end

      # Of libraries that nobody has to have loaded.
      def other(value)
        return value.to_s("F") if defined?(BigDecimal) && value.is_a?(BigDecimal)
        return yield(value.strftime("%F %T.%6N")) if value.is_a?(Time) || (defined?(DateTime) && value.is_a?(DateTime))
        return yield(value.strftime("%F")) if defined?(Date) && value.is_a?(Date)

        raise UsageError, "a #{value.class} is nothing for SQL: give its text, a number, a time, true, false or nil"
      end
      private_class_method :take, :literal, :number, :text, :other
    end
  end
end
