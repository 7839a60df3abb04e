# frozen_string_literal: true

require_relative "../../values/errors"

module Plait
  module RPC
    class Connection
      # Who is told of answers that nobody waits for: one thread reads until the connection is over, one does what is to be done.
      class Followers
        # @param line [NativeLine, PureLine]
        def initialize(line)
          @line = line
          @blocks = {}.compare_by_identity
          @lock = Mutex.new
          @due = Thread::Queue.new
          @threads = [thread("reads for those who follow answers") { read }, thread("follows answers") { serve }]
        end

        # @param future [Future]
        # @return [void]
        def add(future, &block)
          @lock.synchronize { (@blocks[future] ||= []) << block }
          due(future) unless @line.follow(future)
        end

        # It is settled.
        # @param future [Future]
        # @return [void]
        def due(future) = @due << future

        # Nothing more will come.
        # @return [void]
        def close = @due << nil

        private

        def thread(what, &block)
          Thread.new(&block).tap { |thread| thread.name = "plait: #{what}" }
        end

        def read
          @line.run
        rescue Error
          nil # it is over
        end

        def serve
          while (future = @due.pop)
            blocks = @lock.synchronize { @blocks.delete(future) }
            blocks&.each(&:call)
          end
        end
      end
    end
  end
end
