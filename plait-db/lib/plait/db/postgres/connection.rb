# frozen_string_literal: true

require "pg"
require_relative "../connection_in_use"
require_relative "../guard"
require_relative "../session"

module Plait
  module DB
    class Postgres < Session
      # A PG::Connection that lets one fiber or thread in at a time: in the middle of a call, and while results that were asked
      # for have not been fetched.
      class Connection < ::PG::Connection
        CALLS = %i[exec query exec_params exec_prepared prepare describe_prepared describe_portal send_query send_query_params
                   send_query_prepared send_prepare get_result get_last_result discard_results copy_data get_copy_data
                   put_copy_data put_copy_end transaction reset set_single_row_mode].freeze
        VARIANTS = CALLS.flat_map { |name| [name, :"async_#{name}", :"sync_#{name}"] }
        private_constant :CALLS, :VARIANTS

        # Lets in who has asked for what is still under way.
        class Owned < Guard
          # @param connection [Connection]
          def initialize(connection)
            super()
            @connection = connection
          end

          # @return [Object] what the block returns
          # @raise [ConnectionInUse]
          def hold
            raise ConnectionInUse if @owner && !@owner.equal?(Fiber.current) && @connection.busy?

            super do
              @owner = Fiber.current
              yield
            end
          end
        end

        prepend Guard.around(VARIANTS & ::PG::Connection.public_instance_methods)

        # @api private
        def plait_guard = @plait_guard ||= Owned.new(self)

        # @return [Boolean] whether an answer is pending
        def busy? = !finished? && transaction_status == ::PG::PQTRANS_ACTIVE

        # The rows of the statement that was just sent come in parts.
        # @param rows [Integer] in a part, where libpq can (17 and later): else one
        def fetch_row_by_row(rows)
          respond_to?(:set_chunked_rows_mode) ? set_chunked_rows_mode(rows) : set_single_row_mode
        end

        # In the child of a fork: the descriptor no longer leads to the server.
        # @return [void]
        def drop_socket
          File.open(File::NULL, "r+") { |null| IO.for_fd(socket_io.fileno, "r+", autoclose: false).reopen(null) }
        rescue ::PG::Error, SystemCallError
          nil
        end

        # Ends the statement under way and forgets its answer.
        # @param seconds [Numeric] for the server
        # @raise [PG::Error, TimeoutError] when it did not work: the connection is of no more use
        def break_off(seconds)
          Plait.timeout(seconds) do
            cancel
            discard_results
          end
        end
      end
    end
  end
end
