# frozen_string_literal: true

require_relative "exposure"
require_relative "future"
require_relative "incoming"
require_relative "../protocols/messagepack_rpc"
require "plait/io/native"

module Plait
  module RPC
    NativeRPC.define_line(self) if Native.available?

    # Calls, answers and readers of one socket, in C: plait-io/ext/plait_io/rpc/rb_rpc_line.h. Not for TLS. PureLine, its twin,
    # documents the methods.
    class NativeLine
      # @return [String]
      def inspect = "#<#{self.class} #{pending} pending, #{unsent} bytes unsent>"
    end

    # The requests, or the notifications, that a server has got from a connection at once, in C:
    # plait-io/ext/plait_io/rpc/rb_rpc_batch.h.
    #
    # - `run(handler)`: runs the next ones, as long as their methods are known to be quick and their arguments are small, and
    #   writes the answers, which are not sent by that. Returns nil, or an {Incoming} that it has taken and not run: who has it
    #   runs it, and calls `finish`. After a slow one it returns with others left.
    # - `shift`: takes the next one, as an {Incoming}; nil: there is none.
    # - `size`: those that nobody has taken. `requests`, `notifications`: how many of all are such. `connection`.
    # - `finished`: how many were run since that was asked for last; `answered`: how many of these have no {Incoming} that
    #   knows it.
    # - `NativeBatch.incoming(token)`: what is run, by what `run` leaves in the thread's or fiber's `:plait_rpc_incoming`.
    #
    # Where there is no extension, and for what speaks TLS, each request is an {Incoming} from the beginning.
    Native.available? ? NativeRPC.define_batch(self) : NativeBatch = Class.new

    # The leader of a server's workers at one connection, in C: plait-io/ext/plait_io/rpc/rb_rpc_visit.h.
    #
    # - `new(reactor, handler)`
    # - `pay(line, limit) { … }`: waits for what the connection says next, and runs and answers it, until somebody else says
    #   something, it has been silent for 10 ms, or the moment is past (monotonic seconds, or nil). Before something is run, but
    #   once in a millisecond at most, the block is called. Returns nil, or an {Incoming} that was taken and not run.
    # - `state`: what has come of reading, as `NativeLine#read_available` says it, until `end`; nil: it is over.
    # - `since`: since when methods are run, monotonic seconds; nil: none is.
    # - `end`: the batch that is being run, or was left, or nil; it is the caller's from now on.
    # - `counted`: how many requests and notifications have come, and how many were run, since that was asked for last; of these
    #   those of that batch aside.
    #
    # Only on Linux; elsewhere it has none of these.
    Native.available? && NativeRPC.respond_to?(:define_visit) ? NativeRPC.define_visit(self) : NativeVisit = Class.new
    private_constant :NativeLine, :NativeBatch, :NativeVisit
  end
end
