# frozen_string_literal: true

module Plait
  module DB
    # Rules of MySQL and MariaDB, for any driver.
    module Mysql
      # A deadlock (ER_LOCK_DEADLOCK) rolls back the whole transaction. A long wait for a lock (ER_LOCK_WAIT_TIMEOUT) rolls back
      # the transaction or the statement alone, as innodb_rollback_on_timeout says.
      DEADLOCK = 1213
      LOCK_WAIT = 1205
      # Statements with a lasting effect, which the drivers can't see, or only in part. Libraries put a comment before them.
      LASTING = %r{\A(?:\s|/\*.*?\*/|--\s[^\n]*|\#[^\n]*)*+
                 (?:BEGIN\b(?!\s+NOT)|START\s+TRANSACTION|XA\s+(?:START|BEGIN)|LOCK\s+TABLES?|
                 SET\s+(?:SESSION\s+|LOCAL\s+|@@(?:SESSION\.|LOCAL\.)?)?AUTOCOMMIT\b)}imx
      # Tells servers apart that answer at the same address.
      IDENTITY = "SELECT CONNECTION_ID(), @@hostname, @@port, @@server_id, @@version"
      # Seconds for each answer of a server that has to end a connection. The driver has to limit the time: an interrupt can't
      # reach mysql2 while it connects.
      HASTE = { connect_timeout: 1, read_timeout: 1 }.freeze
      # The identity of a connection: its number, its server, and its start (monotonic seconds).
      Identity = Struct.new(:id, :server, :since)

      # Puts values into the text of a statement of MySQL, in the place of its question marks. trilogy has no prepared statements,
      # and fibers can't wait for mysql2's.
      module Placeholders
        # Text in which a question mark is no placeholder: quoted names, comments and strings. In a string a backslash escapes the
        # next character, unless the server's mode is NO_BACKSLASH_ESCAPES. OPEN finds a quote or a comment without an end.
        OPAQUE = %r{`[^`]*`|/\*.*?\*/|--(?=\s|\z)[^\n]*|\#[^\n]*}m
        OPEN = %r{['"`]|/\*}
        TOKENS = {
          true => /'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|#{OPAQUE}|\?|#{OPEN}/m,
          false => /'(?:[^']|'')*'|"(?:[^"]|"")*"|#{OPAQUE}|\?|#{OPEN}/m
        }.freeze
        UNCLOSED = %w[' " ` /*].freeze

        module_function

        # @param backslash [Boolean] whether a backslash in a string stands for the next character
        # @param zone [Symbol] :utc or :local, as the driver reads times
        # @yieldreturn [String] a literal of the server, quoted and escaped
        # @raise [UsageError] there are more or fewer values than question marks, a value has no type of SQL, or the statement has
        #   a quote or a comment without an end, through which a value could become a part of the statement
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

        # Hexadecimal text brings bytes to the server unchanged.
        def text(string)
          string.encoding == Encoding::BINARY && !string.ascii_only? ? "x'#{string.unpack1("H*")}'" : yield(string)
        end

        # Values of classes that a program may not have loaded.
        def other(value, zone)
          return number(value, "F") if defined?(BigDecimal) && value.is_a?(BigDecimal)
          return yield(moment(value, zone).strftime("%F %T.%6N")) if value.is_a?(Time) || datetime?(value)
          return yield(value.strftime("%F")) if defined?(Date) && value.is_a?(Date)

          raise UsageError, "a #{value.class} is nothing for SQL: give its text, a number, a time, true, false or nil"
        end

        def datetime?(value) = defined?(DateTime) && value.is_a?(DateTime)

        # A column has no zone: a time is written in the zone in which the driver reads it.
        def moment(value, zone) = zone == :utc ? value.to_time.getutc : value.to_time.getlocal
      end
      private_constant :DEADLOCK, :LOCK_WAIT, :LASTING, :IDENTITY, :HASTE, :Identity, :Placeholders

      private

      # @param haste [Hash] see HASTE
      # @return [Hash] what both drivers connect with; with a socket's file there is neither host nor port
      def about(**haste)
        about = { host: @address.host || "127.0.0.1", port: @address.port || 3306, username: @address.user,
                  password: @address.password, database: @address.database, connect_timeout: 10, **tls, **haste }.compact
        about[:socket] ? about.except(:host, :port) : about
      end

      def refuse(option, reason) = @options[option] && raise(UsageError, "#{option}: is not for a pool: #{reason}")

      def fill(driver, sql, values)
        Placeholders.fill(sql, values, backslash: !sql.include?("\\") || driver.escape("\\").size == 2, zone: zone) do |text|
          "'#{driver.escape(text)}'"
        end
      rescue EncodingError, ArgumentError, TypeError => e # nothing was sent
        raise UsageError, "a value can't be written in the character set of the connection: #{e.message}"
      end

      def lasting?(sql) = LASTING.match?(sql)

      def deadlock?(code) = code == DEADLOCK

      # @return [Boolean] whether this error leaves it open if the transaction still exists
      def doubtful?(code) = code == LOCK_WAIT && inside?

      def identify(driver)
        id, *server = ask(driver, IDENTITY, []).rows.first
        Identity.new(Integer(id), server, Deadline.now)
      end

      # The server does not notice that its client is gone: it would run the statement, and keep its locks, to the end. KILL needs
      # another connection, which may reach another server (a name with several addresses, a balancer), where the same number
      # belongs to another connection.
      def break_off(_driver, identity)
        other = connect(**HASTE)
        control(other, "KILL #{identity.id}") if same_server?(other, identity)
        false
      ensure
        other&.close
      end

      # A server numbers its connections from 1 again after a restart.
      def same_server?(other, identity)
        return false unless ask(other, IDENTITY, []).rows.first.drop(1) == identity.server

        asked = Deadline.now
        uptime = Integer(ask(other, "SHOW GLOBAL STATUS LIKE 'Uptime'", []).rows.first.last)
        uptime + 1 >= asked - identity.since
      end
    end
  end
end
