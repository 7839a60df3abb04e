# frozen_string_literal: true

require "sqlite3"
require "plait/io/native"
require "plait/values/deadline"
require_relative "../guard"
require_relative "../session"

module Plait
  module DB
    class Sqlite < Session
      # The guard of a connection, and its turns: what SQLite calls back while it works. No exception may pass through SQLite,
      # so what ends a turn (a timeout, a cancellation, a kill) waits until SQLite has come back.
      class Pace < Guard
        # Seconds of computing after which others get their turn.
        SLICE = 0.001
        # Seconds between two looks at a lock, from the first on.
        PAUSES = [0.001, 0.002, 0.005, 0.01].freeze
        NEVER = { Object => :never }.freeze
        KILLED = Object.new.freeze
        private_constant :PAUSES, :NEVER, :KILLED

        class << self
          # Has {turn} called while a connection computes, and {locked} while another one has what it needs. Without the
          # extension, or where the driver loads no extensions, SQLite keeps everybody waiting until it has its answer.
          # @param connection [Connection]
          # @return [Integer, nil] the address of its file, see {Connection#discard}; nil: without the extension
          def install(connection)
            return unless Native.available? && connection.respond_to?(:load_extension)

            load_into(connection)
            Native.sqlite_file(connection)
          rescue ::SQLite3::Exception
            nil
          end

          # Called by the extension in the middle of a statement, on the stack of its fiber.
          # @return [Boolean] whether the statement has to end
          def turn
            pace = Thread.current[:plait_sqlite_pace]
            pace ? pace.turn : false
          end

          # As {turn}, when another connection has locked what this one needs.
          # @param tries [Integer] so far
          # @return [Boolean] whether to try again
          def locked(tries)
            pace = Thread.current[:plait_sqlite_pace]
            pace ? pace.await_lock(tries) : false
          end

          private

          # Left on, it would let SQL load any library.
          def load_into(connection)
            connection.enable_load_extension(true)
            connection.load_extension(Native.path("plait_io"))
          ensure
            connection.enable_load_extension(false)
          end
        end

        # Seconds for which a lock is awaited.
        attr_writer :patience

        # @return [Object] what the block returns
        # @raise [Exception] what has ended a turn
        def hold
          super do
            outer = Thread.current[:plait_sqlite_pace]
            Thread.current[:plait_sqlite_pace] = self
            yield
          ensure
            Thread.current[:plait_sqlite_pace] = outer
          end
        rescue ::SQLite3::Exception
          raise_kept
          raise
        end

        # As {hold}, around what is SQLite's alone. What comes for a thread has to wait until SQLite has come back: leaving a
        # narrower block of `handle_interrupt` would let it in. To a fiber it comes in the middle of its wait.
        # @return [Object] what the block returns
        def step(&block)
          hold do
            # What has come already, and was not let in, is masked by the caller, who is to have his answer.
            @masked = Thread.pending_interrupt?
            Fiber.current_scheduler ? yield : Thread.handle_interrupt(NEVER, &block)
          end
        end

        # @return [Boolean] whether the statement has to end
        def turn
          Fiber.current_scheduler ? rest(0) : keep { Thread.pass }
          ended?
        end

        # @param tries [Integer] so far
        # @return [Boolean] whether to try again
        def await_lock(tries)
          @limit = Deadline.after(@patience) if tries.zero?
          return false if @limit.expired?

          rest(PAUSES.fetch(tries, PAUSES.last))
          !ended?
        end

        private

        def rest(seconds) = keep { sleep(seconds) }

        def ended? = !@kept.nil? || (!@masked && Thread.pending_interrupt?)

        # A kill is no exception: nothing but the missing end of the block tells of it.
        def keep
          @kept = KILLED
          yield
          @kept = nil
        rescue Exception => e # rubocop:disable Lint/RescueException
          @kept = e
        end

        def raise_kept
          kept, @kept = @kept, nil
          Thread.current.kill if kept.equal?(KILLED)
          raise kept if kept
        end
      end
    end
  end
end
