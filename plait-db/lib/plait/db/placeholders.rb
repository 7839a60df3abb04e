# frozen_string_literal: true

require "plait/values/errors"

module Plait
  module DB
    # Values in the text of a statement of MySQL, in the place of its question marks: for what has no prepared statements, or
    # has none that fibers can wait for.
    module Placeholders
      # What a question mark means nothing in: quoted names and comments, and strings, in which a backslash stands for the
      # next character, unless the server's mode is NO_BACKSLASH_ESCAPES. And what opens one of these and is never closed.
      OPAQUE = %r{`[^`]*`|/\*.*?\*/|--(?=\s|\z)[^\n]*|\#[^\n]*}m
      OPEN = %r{['"`]|/\*}
      TOKENS = {
        true => /'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|#{OPAQUE}|\?|#{OPEN}/m,
        false => /'(?:[^']|'')*'|"(?:[^"]|"")*"|#{OPAQUE}|\?|#{OPEN}/m
      }.freeze
      UNCLOSED = %w[' " ` /*].freeze
      private_constant :OPAQUE, :OPEN, :TOKENS, :UNCLOSED

      module_function

      # @param sql [String]
      # @param values [Array]
      # @param backslash [Boolean] whether a backslash in a string stands for the next character
      # @param zone [Symbol] :utc or :local: in which the driver reads the times that it is given back
      # @yieldparam text [String]
      # @yieldreturn [String] a literal of the server, quoted and escaped
      # @return [String]
      # @raise [UsageError] when there are more or fewer of them than question marks, one is of no type of SQL, or the
      #   statement has a quote or a comment without an end, in which a value could become a part of the statement
      def fill(sql, values, backslash: true, zone: :local, &quote)
        return sql if values.empty?

        rest = values.dup
        filled = sql.gsub(TOKENS.fetch(backslash)) do |token|
          next literal(take(rest, sql), zone, &quote) if token == "?"
          raise UsageError, "#{token} is opened and never closed in #{sql}" if UNCLOSED.include?(token)

          token
        end
        raise UsageError, "#{values.size} values are too many for the placeholders of #{sql}" unless rest.empty?

        filled
      end

      def take(rest, sql)
        raise UsageError, "there are not enough values for the placeholders of #{sql}" if rest.empty?

        rest.shift
      end

      def literal(value, zone, &quote)
        case value
        when nil then "NULL"
        when true then "1"
        when false then "0"
        when Integer then value.to_s
        when Float then number(value)
        when String, Symbol then text(value.to_s, &quote)
        else other(value, zone, &quote)
        end
      end

      def number(value, *format)
        raise UsageError, "SQL has no #{value}" unless value.finite?

        value.to_s(*format)
      end

      # Bytes are no text: as hexadecimal they reach the server as they are.
      def text(string)
        string.encoding == Encoding::BINARY && !string.ascii_only? ? "x'#{string.unpack1("H*")}'" : yield(string)
      end

      # Of libraries that nobody has to have loaded.
      def other(value, zone)
        return number(value, "F") if defined?(BigDecimal) && value.is_a?(BigDecimal)
        return yield(moment(value, zone).strftime("%F %T.%6N")) if value.is_a?(Time) || datetime?(value)
        return yield(value.strftime("%F")) if defined?(Date) && value.is_a?(Date)

        raise UsageError, "a #{value.class} is nothing for SQL: give its text, a number, a time, true, false or nil"
      end

      def datetime?(value) = defined?(DateTime) && value.is_a?(DateTime)

      # A column has no zone: every time is written in the one in which it is read.
      def moment(value, zone) = zone == :utc ? value.to_time.getutc : value.to_time.getlocal
      private_class_method :take, :literal, :number, :text, :other, :datetime?, :moment
    end
  end
end
