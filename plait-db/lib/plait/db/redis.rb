# frozen_string_literal: true

Plait::DB::Driver.load("redis-client", "~> 0.22", feature: "redis_client") { require "redis_client" }

module Plait
  module DB
    # Redis by redis-client, which waits in Ruby: it never blocks the loop.
    #
    #   db.query("GET", "key")                                        # => "value"
    #   db.transaction { |tx| tx.query("INCR", "a"); tx.query("INCR", "b") }   # => [1, 1]
    #   db.stream("SCAN", "MATCH", "user:*") { |key| … }              # or HSCAN, SSCAN, ZSCAN with a key
    class Redis < Session
      SCANS = %w[scan hscan sscan zscan].freeze

      # A RedisClient that one fiber or thread at a time may call: two would get each other's answers.
      class Client < ::RedisClient
        GUARDED = %i[call call_v call_once call_once_v blocking_call blocking_call_v pipelined multi pubsub
                     measure_round_trip_delay].freeze

        # Commands with an effect on later answers of the connection.
        LASTING = %w[multi exec discard watch select subscribe psubscribe ssubscribe monitor auth hello reset quit].freeze
        # Subcommands of CLIENT with such an effect.
        OF_CLIENT = %w[reply tracking].freeze

        # A middleware of redis-client: sees every command, also in a pipeline.
        module Noting
          def connect(config)
            client.note_new_connection
            super
          end

          def call(command, config)
            client.note(command)
            super
          end

          def call_pipelined(commands, config)
            if commands.first == ["MULTI"] && commands.last == ["EXEC"]
              client.sends_transaction = true
              client.note_whole_transaction
              commands[1...-1].each { |command| client.note(command) }
            elsif !prelude?(commands, config.connection_prelude)
              commands.each { |command| client.note(command) }
            end
            super
          end

          private

          # The client's own commands on a new connection; by RESP2 there may be none, and each pipeline begins with none.
          def prelude?(commands, prelude) = prelude.any? && commands.first(prelude.size) == prelude
        end

        prepend Guard.around(GUARDED & ::RedisClient.public_instance_methods)

        # @return [Boolean] whether a transaction is on its way: the client connects only after it has collected the commands
        attr_accessor :sends_transaction

        def plait_guard = @plait_guard ||= Guard.new

        # @return [Boolean] whether its answers differ from a new connection's
        def changed? = !@changed.nil?

        def note(command)
          name = command.first.downcase
          if LASTING.include?(name) || (name == "client" && OF_CLIENT.include?(command[1].to_s.downcase))
            @changed ||= name
          elsif name == "unwatch"
            note_whole_transaction
          end
        end

        def note_new_connection = @changed = nil

        # It ends a WATCH.
        def note_whole_transaction = @changed == "watch" && @changed = nil
      end
      private_constant :SCANS, :Client

      def self.errors = super + [::RedisClient::Error, OpenSSL::SSL::SSLError]

      # Sends all commands at the end of the block; Redis runs them together, without other commands between. It undoes no
      # command: when one fails, its error is raised, and the others are done nevertheless.
      # @return [Array] the answers
      # @raise [UsageError] the block gives a command to the database, which would run at once
      def transaction
        raise UsageError, "Redis has no transaction inside of a transaction" if @multi

        @multi = true
        client = answers = nil
        call do |driver|
          client = driver.tap { |one| one.sends_transaction = false }
          answers = driver.multi { |multi| yield(Commands.new(multi)) }
        end
        tidy unless @lent
        answers
      rescue *Commit::CUTS => e
        raise unless answers || (client&.sends_transaction && commit_unknown?)

        Commit.raise_instead(answers ? CommittedLate.new : CommitUnknown.new, e)
      ensure
        @multi = false
      end

      # Collects the commands of a transaction.
      class Commands
        def initialize(multi)
          @multi = multi
        end

        # @return [nil] {Redis#transaction} returns all answers; commands are sent once, with `reconnect_attempts:` too
        def query(...) = @multi.call_once(...)
      end

      private

      def statement(name)
        raise UsageError, "inside of a transaction commands are given to its block's argument, which collects them" if @multi

        super
      end

      def lasting?(name) = Client::LASTING.include?(name.to_s.downcase)

      # A new connection replaces a changed one.
      def tidy = idle?(@driver) || hang_up

      def undo_what_lasts(name)
        hang_up
        raise lasting(name)
      end

      # The driver connects at the first command.
      def connect_again = Uninterruptible.run { @driver = connect }

      def connect
        @address.host # raises for what URI would show with its password
        middlewares = [Client::Noting, *@options[:middlewares]]
        Client.new(url: @address.url.sub(/\?.*/m, ""), **@options, middlewares: middlewares)
      end

      def ask(driver, name, values) = driver.call(name, *values)

      def ask_prepared(driver, name, values) = ask(driver, name, values)

      def each_row(driver, name, values)
        scan = name.to_s.downcase
        raise UsageError, "stream takes #{SCANS.join(", ").upcase}, not #{name}" unless SCANS.include?(scan)

        count = 0
        driver.public_send(scan, *values) do |*element|
          Driver.give_turn if ((count += 1) % Driver::ROWS).zero?
          yield(*element)
        end
      end

      def ping(driver) = driver.call("PING") == "PONG"

      # A TypeError (a value that is no text or number) comes before the command is sent.
      def answer?(error) = error.is_a?(::RedisClient::CommandError) || error.is_a?(TypeError)

      def idle?(driver) = !driver.changed?

      def forget(driver) = driver.close
    end
  end
end
