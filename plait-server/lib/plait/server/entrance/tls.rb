# frozen_string_literal: true

require_relative "../entrance"
require_relative "../http2"
require_relative "../relay"
require "plait/values/deadline"
require "plait/values/errors"

module Plait
  class Server
    class Entrance
      # Lets in those who speak TLS: the core sees of each connection what was decrypted, by a pair of sockets. So there is one
      # engine for both; a connection costs two fibers, or threads, while it lasts, and one of HTTP/2 costs one.
      class TLS < Entrance
        # Handshakes at once; others wait in the kernel. A thread costs more than a fiber.
        HANDSHAKES = Hash.new(1024).merge(threads: 64).freeze
        # Of a relay's descriptors that which the core counts, as one of its connections.
        CORES = 1

        private

        def most_arriving = HANDSHAKES[@options.on]

        # Whether the peer has done its part, and nobody has got to it yet: then it is we who are slow, and who is ended for that
        # comes again.
        def unread?(socket)
          socket.recv_nonblock(1, Socket::MSG_PEEK, exception: false) != :wait_readable
        rescue SystemCallError, IOError
          true # it is gone; who reads there hears of it
        end

        # Whoever does not speak TLS is gone by it.
        def let_in(socket, &start)
          stream = shake_hands(socket)
          address = address_of(socket)
          return serve_http2(stream.io, address) if HTTP2.spoken?(stream.io)

          relay = relay_to(address, stream)
          release(socket, CORES)
        rescue Error, SystemCallError, IOError
          nil # closed below
        else
          start.call(-> { answer(relay) })
          relay.ask
        ensure
          release(socket)
          socket.close unless relay
        end

        def relay_to(address, stream)
          plain, ticket = bring(address, @number)
          Relay.new(stream, plain, @options.write_timeout) { !@core.cut?(ticket) }.tap { |relay| @relays[relay] = true }
        end

        def answer(relay)
          relay.answer
        ensure
          @core.hold(CORES - EACH) if @relays.delete(relay)
        end

        def shake_hands(socket)
          @listener.stream(socket, deadline: Deadline.after(@options.handshake_timeout))
        ensure
          @arriving.delete(socket)
        end
      end
    end
  end
end
