# frozen_string_literal: true

require "mysql2"
require "socket"
require_relative "../guard"
require_relative "../session"

module Plait
  module DB
    class Mysql2 < Session
      # A Mysql2::Client that lets one fiber or thread in at a time. The driver's own check covers queries only; two threads
      # in one prepared statement end in its memory.
      class Client < ::Mysql2::Client
        GUARDED = %i[query prepare ping select_db next_result store_result abandon_results! change_user close].freeze
        private_constant :GUARDED

        # A prepared statement is a call of its connection.
        module Statement
          # @api private
          attr_accessor :plait_guard

          # Runs it, as the driver does.
          def execute(...) = plait_guard.hold { super }
        end

        prepend Guard.around(GUARDED & ::Mysql2::Client.public_instance_methods)

        # @api private
        def plait_guard = @plait_guard ||= Guard.new

        # @return [Mysql2::Statement]
        def prepare(sql)
          super.tap do |statement|
            statement.extend(Statement)
            statement.plait_guard = plait_guard
          end
        end

        # A descriptor of our own for the same socket: the driver's number may be another socket's by the time it is used.
        def initialize(...)
          super
          @wire = for_another_thread
        end

        # Ends whatever waits for the server, in another thread.
        # @return [void]
        def cut
          @wire.shutdown
        rescue SystemCallError, IOError
          nil
        end

        # As the driver's own.
        def close
          super
        ensure
          @wire&.close
        end

        private

        def for_another_thread
          io = BasicSocket.for_fd(socket)
          io.autoclose = false
          io.dup
        end
      end
    end
  end
end
