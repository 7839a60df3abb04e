# frozen_string_literal: true

require_relative "backlog"
require_relative "worker_pool"
require_relative "dispatcher"
require_relative "survival"
require_relative "switchboard"
require_relative "../connection"

module Plait
  module RPC
    class Server
      # Runs a request in the worker's fiber. A method that computes for long without a wait delays all others: after two such
      # runs in a row it runs on the thread pool.
      class Hybrid
        # Seconds without a wait from which a run counts as blocking; raising it leaves more methods on the loop.
        BLOCKING = 0.01
        ENOUGH = 2

        def initialize(handler)
          @handler = handler
          @in_a_row = Hash.new(0)
        end

        # See {Handler#run}.
        def run(incoming, callable, flush:)
          if @in_a_row[incoming.method_name] >= ENOUGH
            return Plait.offload { Survival.outlive_fork { @handler.run(incoming, callable, flush: flush) } }
          end

          before = ticks
          began = Deadline.now
          @handler.run(incoming, callable, flush: flush)
          judge(incoming.method_name, Deadline.now - began, ticks == before) if callable && before
        end

        private

        # @return [Integer, nil] a number that grows with each wait on a loop of Plait's
        def ticks
          scheduler = Lock.scheduler
          scheduler.ticks if scheduler.respond_to?(:ticks)
        end

        def judge(name, seconds, never_waited)
          never_waited && seconds > BLOCKING ? @in_a_row[name] += 1 : @in_a_row.delete(name)
        end
      end

      # Accepts the connections of one listening socket.
      class Door
        # TLS handshakes at once; other connections wait in the kernel.
        HANDSHAKES = 64
        # Seconds between two looks for room for another connection.
        LOOK = 0.02
        # Seconds that a process leaves to one with fewer connections: for each connection less, and at most.
        COURTESY = 0.001
        PATIENCE = 0.005

        def initialize(listener, options, dispatcher, board, pool, scores: nil)
          @listener = listener
          @options = options
          @dispatcher = dispatcher
          @board = board
          @pool = pool
          @scores = scores
          @handshakes = 0
        end

        # Accepts until it is closed.
        # @yield starts a job beside it
        def run(&start)
          @listener.each(before: @scores && method(:let_others_go_first)) do |socket|
            @listener.tls ? let_in_by_handshake(socket, &start) : admit(socket)
            wait_for_room
          end
        end

        # Accepts no further connection.
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

        # A peer that does not speak TLS is dropped.
        def handshake(socket)
          admit(@listener.tls.handshake(socket, @listener.endpoint, deadline: Deadline.after(@options.handshake_timeout)))
        rescue Error, SystemCallError, IOError
          nil
        ensure
          @handshakes -= 1
        end

        def admit(socket)
          connection = Connection.new(socket, endpoint: @listener.endpoint, codec: @options.codec, limits: @options.limits,
                                              dispatcher: @dispatcher, outbox: @options.outbox, raw: @options.raw)
          peer = connection.session = Peer.new
          peer.connection = connection
          @board.admit(peer)
          @pool.attend(peer) if @listener.tls # its first message may have come with the handshake
        end
      end

      # A server at work, from its start to its end, in one process.
      class Shift
        # Seconds between two looks for connections that are done, while the server ends.
        LOOK = 0.01

        # @param scope [Scope] of its workers
        # @param stop_signal [Io::StopSignal] ends it
        # @param scores [Prefork::Scores, nil] where other processes accept connections from the same sockets
        def initialize(scope, options, handler, listeners, stop_signal, scores: nil)
          @scope = scope
          @stop_signal = stop_signal
          @handler = handler
          @lock = Lock.new
          @backlog = Backlog.new(options.queue, options.pipeline)
          @board = Switchboard.new(@lock, @backlog, options.timeouts)
          @dispatcher = Dispatcher.new(@lock, @board, @backlog, handler, options.secret)
          @pool = WorkerPool.new(@lock, @board, @backlog, handler, options.limit) { start { @pool.work } }
          @pool.runner = Hybrid.new(handler) if options.inner == :hybrid
          @dispatcher.pool = @pool
          @pool.dispatcher = @dispatcher
          @doors = listeners.map { |one| Door.new(one, options, @dispatcher, @board, @pool, scores: scores) }
        end

        # Serves until the stop signal is set, and then until all is answered or the time for that is up.
        # @raise [Exception] that ended it
        def run = Survival.shielding_loop(@handler) { serve }

        def close = @board.peers.each { |peer| peer.connection.close("the server has stopped") }

        def statistics
          @pool.update
          { connections: @board.size, requests: @dispatcher.requests, notifications: @dispatcher.notifications,
            refused: @dispatcher.refused, unknown: @handler.unknown, excessive: @handler.excessive, broken: @dispatcher.broken,
            waiting: @backlog.size, running: @pool.running, done: @pool.done, workers: @pool.size }
        end

        private

        def serve
          @handler.generation = Native.fork_generation
          @pool.begin
          @doors.each { |door| start { door.run { |job| start(&job) } } }
          @stop_signal.wait until @stop_signal.stopped?
          drain(@stop_signal.deadline)
          raise @failure if @failure
        ensure
          finish
        end

        # An error in here is Plait's own: the server must not go on without one of its parts. A part that another one starts
        # after the end is not cancelled with the others: it does nothing.
        def start
          @scope.async do
            yield unless @over
          rescue StandardError => e
            @failure ||= e
            @stop_signal.stop(Deadline.after(0))
          end
        end

        # Earlier requests are answered, new ones refused. A caller without an answer knows that its request did not run.
        def drain(deadline)
          @doors.each(&:close)
          take_what_came(deadline)
          @dispatcher.stop
          @pool.call
          until (peers = @board.peers).empty? || deadline.expired?
            peers.each { |peer| peer.connection.close("the server has stopped") unless peer.busy? }
            sleep(LOOK)
          end
        end

        # A worker that reads from a peer already may not have come to its last requests.
        def take_what_came(deadline)
          peers = @board.peers
          until (peers = peers.reject { |peer| @board.attend(peer) }).empty? || deadline.expired?
            sleep(LOOK)
          end
        end

        def finish
          @doors.each(&:close)
          @dispatcher.stop
          @pool.dismiss
          @board.close
          @over = true
          @scope.cancel
        end
      end
      private_constant :Hybrid, :Door, :Shift
    end
  end
end
