# frozen_string_literal: true

require "redis_client"
require_relative "../guard"
require_relative "../session"

module Plait
  module DB
    class Redis < Session
      # A RedisClient that lets one fiber or thread in at a time: two would get each other's answers.
      class Client < ::RedisClient
        GUARDED = %i[call call_v call_once call_once_v blocking_call blocking_call_v pipelined multi pubsub
                     measure_round_trip_delay].freeze
        private_constant :GUARDED

        # After these a connection answers otherwise, to whoever has it.
        LASTING = %w[multi exec discard watch select subscribe psubscribe ssubscribe monitor auth hello reset quit].freeze
        # And after these of CLIENT.
        OF_CLIENT = %w[reply tracking].freeze
        private_constant :OF_CLIENT

        # For redis-client: sees every command, also those of a pipeline.
        module Noting
          # As redis-client's own.
          def connect(config)
            client.note_new_connection
            super
          end

          # As redis-client's own.
          def call(command, config)
            client.note(command)
            super
          end

          # As redis-client's own.
          def call_pipelined(commands, config)
            if commands.first == ["MULTI"] && commands.last == ["EXEC"] then client.note_whole_transaction
            elsif commands.first(config.connection_prelude.size) != config.connection_prelude
              commands.each { |command| client.note(command) }
            end
            super
          end
        end

        prepend Guard.around(GUARDED & ::RedisClient.public_instance_methods)

        # @api private
        def plait_guard = @plait_guard ||= Guard.new

        # @return [Boolean] whether it answers otherwise than a new one
        def changed? = !@changed.nil?

        # @api private
        def note(command)
          name = command.first.downcase
          if LASTING.include?(name) || (name == "client" && OF_CLIENT.include?(command[1].to_s.downcase))
            @changed ||= name
          elsif name == "unwatch"
            note_whole_transaction
          end
        end

        # @api private
        def note_new_connection = @changed = nil

        # It ends what WATCH has begun.
        # @api private
        def note_whole_transaction = @changed == "watch" && @changed = nil
      end
    end
  end
end
