# frozen_string_literal: true

require_relative "backlog"
require_relative "crew"
require_relative "dispatcher"
require_relative "door"
require_relative "survival"
require_relative "../lock"
require_relative "switchboard"
require "plait/values/deadline"

module Plait
  module RPC
    class Server
      # A server at work, from its start to its end, in one process.
      class Shift
        # Seconds between two looks at who is done, while the server ends.
        LOOK = 0.01

        # @param scope [Scope] in which all of it runs
        # @param options [Options]
        # @param handler [Handler]
        # @param listeners [Array<Io::Listener>]
        # @param bell [Io::Bell] rings when it shall end
        # @param scores [Prefork::Scores, nil] where other processes accept connections from the same sockets
        def initialize(scope, options, handler, listeners, bell, scores: nil)
          @scope = scope
          @bell = bell
          @handler = handler
          @lock = Lock.new
          @backlog = Backlog.new(options.queue, options.pipeline)
          @board = Switchboard.new(@lock, @backlog, options.timeouts)
          @dispatcher = Dispatcher.new(@lock, @board, @backlog, handler, options.secret)
          @crew = Crew.new(@lock, @board, @backlog, options.runner.new(handler), options.limit) { start { @crew.work } }
          @dispatcher.crew = @crew
          @crew.dispatcher = @dispatcher
          @doors = listeners.map { |one| Door.new(one, options, @dispatcher, @board, @crew, scores: scores) }
        end

        # Serves until the bell rings, and then until all is answered or the time for that is up.
        # @return [void]
        # @raise [Exception] that ended it
        def run
          Survival.shielding_loop(@handler) { serve }
        end

        # @return [void]
        def close = @board.peers.each { |peer| peer.connection.close("the server has stopped") }

        # @return [Hash{Symbol => Integer}]
        def statistics
          @crew.take_stock
          { connections: @board.size, requests: @dispatcher.requests, notifications: @dispatcher.notifications,
            refused: @dispatcher.refused, unknown: @handler.unknown, excessive: @handler.excessive, broken: @dispatcher.broken,
            waiting: @backlog.size, running: @crew.running, done: @crew.done, workers: @crew.size }
        end

        private

        def serve
          @crew.begin
          @doors.each { |door| start { door.run { |job| start(&job) } } }
          @bell.wait until @bell.rung?
          drain(@bell.deadline)
          raise @failure if @failure
        ensure
          finish
        end

        # What fails in here is a mistake of ours: the server must not go on with a part of it missing. What is begun by somebody
        # who has not heard yet that he is called off would not be called off itself.
        def start
          @scope.async do
            yield unless @over
          rescue StandardError => e
            @failure ||= e
            @bell.ring(Deadline.after(0))
          end
        end

        # What was sent before is answered, and what comes now refused: who has no answer then was not heard.
        def drain(deadline)
          @doors.each(&:close)
          @board.peers.each { |peer| @board.attend(peer) }
          @dispatcher.stop
          @crew.call
          until (peers = @board.peers).empty? || deadline.expired?
            peers.each { |peer| peer.connection.close("the server has stopped") unless peer.busy? }
            sleep(LOOK)
          end
        end

        def finish
          @doors.each(&:close)
          @dispatcher.stop
          @crew.dismiss
          @board.close
          @over = true
          @scope.cancel
        end
      end
    end
  end
end
