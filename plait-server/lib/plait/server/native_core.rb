# frozen_string_literal: true

require_relative "exchange"
require_relative "no_input"
require "plait/io/native"

module Plait
  class Server
    NativeServer.define_core(self) if Native.available? && Plait.const_defined?(:NativeServer)

    # The connections of a server and its workers, in C: rb_server.c.
    #
    # - `new(app, reply, hybrid, spawner, settings)`: the spawner has a further worker begin, which calls `work`
    # - `listen(io, scheme, name, port, protocol = "HTTP/1.1")`: accepts there; returns a number. With nil for `io` nothing is
    #   accepted, and the number is for `bring`
    # - `bring(descriptor, number, address)`: a connection that was accepted elsewhere; the core takes a copy of the descriptor.
    #   Returns a ticket
    # - `hold(count)`: descriptors that are in front of connections which are brought, or below 0: no longer are;
    #   `room?(count)`: whether so many more may be
    # - `cut?(ticket)`: of one that was brought and has ended, whether its answer was cut where only its end could tell
    # - `begin`: the first worker; `work`: the life of one, until `halt`
    # - `sweep`: ends what takes too long; to be called now and then
    # - `retire`: takes no new connections, and closes each of the others after its next request
    # - `drain`: takes nothing new; `halt`: the workers leave; `close`: closes what is left
    # - `unfinished`: how many requests were begun and are not answered
    # - `statistics`: a Hash of counts
    class NativeCore
      def inspect = "#<#{self.class}>"
    end
  end
end
