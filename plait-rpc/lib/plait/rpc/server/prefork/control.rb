# frozen_string_literal: true

require "io/wait"
require "socket"
require_relative "../../connection"
require_relative "../../handler"
require "plait/values/deadline"
require "plait/values/errors"

module Plait
  module RPC
    class Server
      class Prefork
        # One end of what a master and a worker say to one another: MessagePack-RPC, over a pair of sockets.
        class Control
          # Seconds for an answer. A worker whose methods compute may take a while to say a word.
          PATIENCE = 5

          # @param socket [UNIXSocket]
          # @yieldparam method [String]
          # @yieldparam arguments [Array]
          # @yieldreturn [Object] what the other end is answered
          def initialize(socket, &answer)
            @answer = answer
            @connection = Connection.new(socket, endpoint: "the process beside it", dispatcher: self)
          end

          # Reads until the other end is gone.
          def run
            @connection.run
          rescue Error
            nil # it is over
          end

          # @return [Object]
          # @raise [Plait::Error] it does not answer
          def ask(method, *arguments) = @connection.request(method, arguments, limit: Deadline.now + PATIENCE)

          def tell(method, *arguments)
            @connection.notify(method, arguments, limit: Deadline.now + PATIENCE)
          rescue Error
            nil # it is gone
          end

          def close = @connection.close

          # @!group As the dispatcher of its connection

          # An answer may need to be asked for elsewhere, so it is not given by who reads.
          def take(incoming)
            incoming.dispatcher = self
            Thread.new { answer(incoming) }.name = "plait rpc control"
          end

          def settle(incoming) = incoming.answered!

          def room?(_connection) = true
          alias place? room?

          def closed(_connection, _error) = nil

          def unsent(_connection) = nil

          private

          def answer(incoming)
            incoming.respond(@answer.call(incoming.method_name, incoming.arguments))
          rescue StandardError => e
            incoming.connection.respond_error(incoming.id, ErrorFormat.sentence(e)) if incoming.id
          end
        end

        # The place of one worker, as the master sees it: filled again when its worker has died.
        class Post
          # Seconds between two looks whether a process that was to begin has.
          LOOK = 0.05
          # Seconds after which a worker counts as one that works. Those who die before are replaced after growing pauses.
          WORKS = 5
          FIRST_PAUSE = 0.1
          LONGEST_PAUSE = 5

          # @return [Integer, nil] of the process
          attr_reader :pid
          # @return [Integer] workers that have died here
          attr_reader :deaths

          # @yieldparam method [String] what its worker asks
          # @yieldparam arguments [Array]
          def initialize(&answer)
            @answer = answer
            @deaths = 0
            @pause = FIRST_PAUSE
            @last = {}
          end

          # Has a worker begin, and waits until it has. Until then nobody else may fork: no other process may hold an end of
          # its pair of sockets.
          # @param scope [Scope] of processes
          # @yieldparam socket [UNIXSocket] in the new process: its end
          def fill(scope)
            @began = Deadline.now
            @socket, theirs = UNIXSocket.pair
            socket = @socket
            @task = scope.async do
              socket.close
              yield theirs
              nil
            end
            nil until @task.done? || @socket.wait_readable(LOOK)
            listen
          ensure
            theirs&.close
          end

          def vacant? = @task.nil?

          # @return [Boolean] whether its worker has died
          def lost? = !vacant? && @task.done?

          # Its worker has died: somebody else may take the place.
          def clear
            hang_up
            @task = @pid = nil
            @deaths += 1
            @pause = FIRST_PAUSE if Deadline.now - @began > WORKS
            @again = Deadline.after(@pause)
            @pause = [@pause * 2, LONGEST_PAUSE].min
          end

          # @return [Boolean] whether it is time for another worker
          def due? = vacant? && (@again.nil? || @again.expired?)

          def stop(deadline) = @control&.tell("stop", deadline.remaining)

          # @return [Hash{String => Integer}] as its worker says; of one who says nothing any more, what it has said last
          def statistics
            @last = @control.ask("statistics") if @control && !lost?
            @last
          rescue Error
            @last
          end

          # In a process of somebody else: its descriptors are closed.
          def forget = @control ? @control.close : @socket&.close

          # The worker is gone, and so are its last words.
          def hang_up
            @control&.close
            @reader&.join
            @control = @reader = nil
          end

          private

          def listen
            @control = Control.new(@socket) { |method, arguments| hear(method, arguments) }
            @reader = Thread.new(@control, &:run)
            @reader.name = "plait rpc master"
          end

          def hear(method, arguments)
            case method
            when "ready" then @pid = arguments.first
            when "over" then @last = arguments.first
            else @answer.call(method, arguments)
            end
          end
        end
        private_constant :Control, :Post
      end
    end
  end
end
