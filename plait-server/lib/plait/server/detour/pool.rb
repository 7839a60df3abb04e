# frozen_string_literal: true

require_relative "frame"
require_relative "nursery"
require "plait/values/errors"

module Plait
  class Server
    class Detour
      # Processes that run requests, one each at a time; further requests wait. In the place of one that has died another one is
      # begun when it is needed.
      class Pool
        ENDS = [SystemCallError, IOError].freeze

        # @param app [#call]
        # @param limit [Integer] of processes
        # @param listeners [Array<Io::Listener>] see {Nursery}
        def initialize(app, limit, listeners, &boot)
          @nursery = Nursery.new(app, listeners, &boot)
          @pid = Process.pid
          @free = Thread::Queue.new
          limit.times { @free << nil } # places; a socket instead of nil: its process is there already
        end

        # @return [Boolean] whether it was begun by this process
        def ours? = @pid == Process.pid

        # @param text [String]
        # @return [String] what a process has answered
        # @raise [WorkerDied]
        def exchange(text)
          socket = @free.pop
          socket ||= @nursery.process
          Frame.write(socket, text)
          answer = Frame.read(socket) or raise EOFError
          kept = socket
          answer
        rescue *ENDS
          raise WorkerDied, "the process that ran this request has died before it answered"
        ensure
          socket&.close unless kept
          @free << kept
        end

        # @return [void]
        def close
          @free.pop&.close until @free.empty?
          @nursery.close
        end
      end
    end
  end
end
