# frozen_string_literal: true

require_relative "notice"

module Plait
  module HTTP
    module NetHTTP
      # One Net::HTTP's right to one connection. The {Pool} alone changes its state, under its lock:
      #
      #   :new -> :waiting -> :held <-> :resting -> :over
      #
      # Held without a {#connection}, it is the right to open one. Resting, its session has had its answer and not sent
      # the next request: the connection may be taken away for somebody who waits, or when it has been idle too long;
      # Net::HTTP connects again.
      class Lease
        # What the garbage collector calls when a session was forgotten without `finish`. It may run anywhere, also while
        # the pool's lock is held, and so does nothing but note it.
        class Lost
          def initialize(lost, key)
            @lost = lost
            @key = key
          end

          def call(_id) = @lost << @key
        end

        # @return [Array] see {Key.of}
        attr_reader :key
        # @return [Numeric] seconds a connection may have been idle to be taken; below 0 only a new one will do
        attr_reader :patience
        # @return [Connection, nil]
        attr_accessor :connection
        # @return [Symbol]
        attr_accessor :state
        # @return [Integer] its place in the line
        attr_accessor :ticket

        def initialize(key, patience)
          @key = key
          @patience = patience
          @state = :new
          @pid = Process.pid
        end

        # @return [Boolean] whether a fork got it from its parent
        def foreign? = @pid != Process.pid

        # @return [Boolean] whether it stands for a connection, or for the right to open one
        def valid? = (@state == :held || @state == :resting) && !foreign?

        def held? = @state == :held

        # Puts it into the line.
        def queue(ticket)
          @ticket = ticket
          @granted = Notice.create
          @state = :waiting
        end

        # Ends its wait.
        def grant(connection, lost)
          @connection = connection
          @state = :held
          ObjectSpace.define_finalizer(self, Lost.new(lost, key))
          @granted.give
        end

        # Waits in the line.
        # @param seconds [Numeric, nil]
        # @return [Boolean, nil] nil when the time is over
        def wait(seconds) = @granted.await(seconds)

        # @return [Connection, nil] which it no longer stands for
        def give_up
          ObjectSpace.undefine_finalizer(self)
          @state = :over
          @connection.tap { @connection = nil }
        end
      end
    end
  end
end
