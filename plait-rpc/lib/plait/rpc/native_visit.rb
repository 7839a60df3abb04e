# frozen_string_literal: true

require_relative "native_batch"
require "plait/io/native"

module Plait
  module RPC
    # The leader of a server's workers at one connection, in C: rb_rpc_visit.h.
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
  end
end
