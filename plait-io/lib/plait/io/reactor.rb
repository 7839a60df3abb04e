# frozen_string_literal: true

require_relative "native"
require_relative "pure_reactor"

module Plait
  module Io
    # Connections that wait for their peer, any number of them, and the one who waits for all. A connection in it costs a
    # descriptor and some bytes: no fiber, no thread, no String.
    #
    # - `add(io, token, interest = READABLE, queue = 0)`: the token is told once, by `wait`, when the IO has become readable
    #   (WRITABLE: writable; either of READABLE | WRITABLE), or was closed by its peer. Then it is silent until it is armed
    #   again: who is told has the connection for himself.
    # - `rearm(io, interest = READABLE, queue = 0, keep = false)` arms it again, or with another interest.
    # - `remove(io)`: before it is closed. Returns whether it was there.
    # - `wait(deadline = nil)`: an Array of the tokens whose turn has come; of many some first, and nobody's turn comes twice
    #   before all others had theirs. Empty when the deadline has passed or when it was woken; nil when the reactor was closed.
    #   One thread or fiber waits at a time. A kill or a cancellation there loses nobody's turn.
    # - `wake` ends a wait, or the next one; from any thread or signal handler.
    # - `expire(queue, before)`: the tokens that are armed, and in that queue, since before that moment (Float, monotonic
    #   seconds); they are told by that. It looks at those only. There are QUEUES of them, for different times and reasons.
    #   A place in a queue is taken anew by each `add` and `rearm`; with `keep`, in the same queue, the old one is kept.
    # - `oldest(queue)`: since when the one waits that is armed longest; nil when there is none.
    # - `size`, `close` (who waits leaves with nil), `closed?`.
    #
    # After a fork the child's is empty, and the parent's goes on undisturbed.
    #
    # On Linux it is an epoll(7) instance in C, elsewhere its twin.
    Reactor = defined?(NativeReactor) ? NativeReactor : PureReactor
  end
end
