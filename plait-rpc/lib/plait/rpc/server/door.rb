# frozen_string_literal: true

require_relative "peer"
require_relative "../connection"
require "plait/io/listener"
require "plait/values/deadline"
require "plait/values/errors"

module Plait
  module RPC
    class Server
      # Lets connections in, one listening socket's.
      class Door
        # Handshakes of TLS at once; others wait in the kernel.
        HANDSHAKES = 64
        # Seconds between two looks whether there is room for another connection.
        LOOK = 0.02
        # Seconds that a process with fewer connections has to take one, for each that it has less, and at most.
        COURTESY = 0.001
        PATIENCE = 0.005

        # @param listener [Io::Listener]
        # @param options [Options]
        # @param dispatcher [Dispatcher]
        # @param board [Switchboard]
        # @param crew [Crew]
        # @param scores [Prefork::Scores, nil]
        def initialize(listener, options, dispatcher, board, crew, scores: nil)
          @listener = listener
          @options = options
          @dispatcher = dispatcher
          @board = board
          @crew = crew
          @scores = scores
          @handshakes = 0
        end

        # Accepts until it is closed.
        # @yield starts a job beside it
        # @return [void]
        def run(&start)
          @listener.each(before: @scores && method(:let_others_go_first)) do |socket|
            @listener.tls ? let_in_by_handshake(socket, &start) : admit(socket)
            wait_for_room
          end
        end

        # Nobody else comes in.
        # @return [void]
        def close
          @closed = true
          @listener.close
        end

        private

        def let_others_go_first
          lead = @scores.lead(@board.size)
          sleep([lead * COURTESY, PATIENCE].min) if lead.positive?
        end

        def wait_for_room
          sleep(LOOK) while full? && !@closed
        end

        def full? = @handshakes >= HANDSHAKES || (@options.connections && @board.size + @handshakes >= @options.connections)

        def let_in_by_handshake(socket)
          @handshakes += 1
          yield -> { handshake(socket) }
        end

        # Whoever does not speak TLS is gone by it.
        def handshake(socket)
          admit(@listener.tls.handshake(socket, @listener.endpoint, deadline: Deadline.after(@options.handshake_timeout)))
        rescue Error, SystemCallError, IOError
          nil
        ensure
          @handshakes -= 1
        end

        def admit(socket)
          connection = Connection.new(socket, endpoint: address(socket), codec: @options.codec, limits: @options.limits,
                                              dispatcher: @dispatcher, outbox: @options.outbox, raw: @options.raw)
          peer = connection.session = Peer.new
          peer.connection = connection
          @board.admit(peer)
          @crew.attend(peer) if @listener.tls # its first message may have come with the handshake
        end

        # @return [String] for messages; made when it is asked for
        def address(_socket) = @listener.endpoint
      end
    end
  end
end
