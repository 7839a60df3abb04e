# frozen_string_literal: true

require "plait/native"
require "plait/values/deadline"
require "plait/values/errors"
require "plait/values/uninterruptible"

module Plait
  module RPC
    class Client
      # The connection of a client: made when it is needed, by one of those who need it, and made anew when it is gone, or when
      # the process is a fork of the one that made it.
      #
      # A server that was there and is gone is waited for, with growing pauses, once for all calls; one that never was is not.
      # After that each call tries once. While that takes long, not each: after a failure others fail at once, for as long as the
      # attempt has taken, a second at most.
      class ReconnectingConnection
        # Seconds between two attempts: the first pause, and the longest.
        FIRST_PAUSE = 0.05
        LONGEST_PAUSE = 1.0

        # @param patience [Numeric] seconds for which a server that is gone is waited for
        # @yieldparam deadline [Deadline, nil]
        # @yieldreturn [Connection] a new one; a block that it is given takes the connection before an interrupt can come
        def initialize(endpoint, patience, &connect)
          @endpoint = endpoint
          @patience = patience
          @connect = connect
          start_anew
        end

        # @return [Connection, nil] the one there is
        attr_reader :current

        # @param limit [Float, nil] monotonic seconds until which to wait for one
        # @return [Connection]
        # @raise [ConnectError, ConnectTimeout, TLSError, CertificateError, ResolveError]
        # @raise [ConnectionClosed] the client is closed
        def connection(limit)
          current = @current
          current&.usable? ? current : find(limit)
        end

        def closed? = @closed

        def close
          @closed = true
          @current&.close
        end

        private

        Attempt = Struct.new(:failure)
        private_constant :Attempt

        def start_anew
          @generation = Native.fork_generation
          @lock = Mutex.new
          @changed = ConditionVariable.new
          @attempt = @gone = @failure = nil
        end

        def find(limit)
          start_anew if @generation != Native.fork_generation
          @lock.synchronize { find_or_begin(limit) } || run(limit)
        end

        # @return [Connection, nil] nil: the caller is the one to connect
        def find_or_begin(limit)
          await_attempt(limit) until @attempt.nil?
          raise closed_here if @closed
          return @current if @current&.usable?
          raise once_more(@failure) if @failure && Deadline.now < @rest_until

          @attempt = Attempt.new
          nil
        end

        # @raise [Error] it has failed
        def await_attempt(limit)
          raise too_late if limit && Deadline.now >= limit

          attempt = @attempt
          @changed.wait(@lock, limit && [limit - Deadline.now, 0].max)
          raise once_more(attempt.failure) if attempt.failure
        end

        # Others wait for what comes of it.
        def run(limit)
          connection = nil
          connect_patiently(limit) { |made| connection = made }
          connection
        rescue Error => e
          failure = e unless limit && Deadline.now >= limit # others may have more time: one of them tries itself
          raise
        ensure
          Uninterruptible.run { @lock.synchronize { conclude(connection, failure) } }
        end

        def conclude(connection, failure)
          @attempt&.failure = failure
          @attempt = nil
          note(failure, connection)
          @current&.close unless connection.nil?
          @current = connection if connection
          @known = true if connection
          connection.close if connection && @closed
          @changed.broadcast
        end

        def note(failure, connection)
          @gone = nil if connection
          @failure = failure if failure.nil? || failure.is_a?(ConnectionFailure)
          now = Deadline.now
          @rest_until = now + [now - @begun, LONGEST_PAUSE].min if @failure
        end

        def connect_patiently(limit, &take)
          pause = FIRST_PAUSE
          begin
            @begun = Deadline.now
            yield @connect.call(limit && Deadline.new(limit), &take)
          rescue ConnectError
            @gone ||= Deadline.now
            give_up = [limit, @gone + @patience].compact.min
            raise if @closed || !@known || Deadline.now + pause >= give_up

            sleep(pause * (0.5 + (rand / 2)))
            pause = [pause * 2, LONGEST_PAUSE].min
            retry
          end
        end

        # Each caller has an exception of its own.
        def once_more(failure) = failure.exception(failure.message)

        def too_late
          what = "no connection to #{@endpoint} in time: another call is connecting to it"
          ConnectTimeout.new(what, endpoint: @endpoint, phase: :connect)
        end

        def closed_here
          ConnectionClosed.new("the client of #{@endpoint} is closed", endpoint: @endpoint, retry_safe: true)
        end
      end
      private_constant :ReconnectingConnection
    end
  end
end
