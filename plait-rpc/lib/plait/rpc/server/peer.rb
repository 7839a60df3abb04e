# frozen_string_literal: true

module Plait
  module RPC
    class Server
      # What the server knows of a connection. All of it is changed under the server's lock.
      class Peer
        # @return [Connection, nil] nil: it is being made
        attr_accessor :connection
        # @return [Integer] requests and notifications that wait or are being run
        attr_accessor :in_flight
        attr_writer :promised
        # @return [Integer] requests without an answer
        attr_accessor :owed
        # @return [Boolean] whether somebody reads from it now
        attr_accessor :attended
        # @return [Boolean] whether something has happened to it meanwhile
        attr_accessor :again
        # @return [Crew::Stint, nil] of the leader who reads from it, and offers to run what he finds
        attr_accessor :stint
        # @return [Symbol, nil] why nothing is read from it: :own, it has enough in flight; :crowd, all together have
        attr_accessor :halted
        # @return [Array<Incoming, NativeBatch>, nil] requests that wait until it reads what it was sent
        attr_accessor :held
        # @return [Incoming, NativeBatch, nil] the notifications that are run, or are the next: no others of this peer are
        attr_accessor :telling
        # @return [Array<Incoming, NativeBatch>, nil] those that wait for them
        attr_accessor :news
        # @return [Integer, nil] bytes that had been received or sent when its time began
        attr_accessor :mark
        # @return [Boolean] whether a message has come since then
        attr_accessor :fresh
        # @return [Boolean, Integer, nil] true: it has shown the secret; else how often it has tried
        attr_accessor :admitted

        # Three variables have room in the object itself; further ones are made when something comes from it.
        def initialize
          @connection = nil
          @in_flight = @owed = 0
        end

        # @return [Integer] places in the backlog that who reads from it may fill
        def promised = @promised || 0

        # @param batch [NativeBatch] that came from it
        # @return [void]
        def take(batch)
          @fresh = true
          @owed += batch.requests
          @in_flight += batch.requests + batch.notifications
        end

        # @param bytes [Integer] received or sent, ever
        # @param enough [Integer] of them within its time
        # @return [Boolean] whether its time begins anew
        def moved?(bytes, enough)
          return false if @mark && bytes - @mark < enough

          @fresh = false
          @mark = bytes
          true
        end

        # @return [IO] for the reactor
        def to_io = @connection.to_io

        # @return [Boolean] whether there is something to be done for it yet
        def busy?
          @in_flight.positive? || @owed.positive? || @connection.pending.positive? || @connection.unsent.positive?
        end
      end
    end
  end
end
