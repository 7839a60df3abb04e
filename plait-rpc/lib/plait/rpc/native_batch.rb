# frozen_string_literal: true

require_relative "callable"
require_relative "delayed"
require_relative "incoming"
require "plait/io/native"

module Plait
  module RPC
    # The requests, or the notifications, that a server has got from a connection at once, in C: rb_rpc_batch.h.
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
  end
end
