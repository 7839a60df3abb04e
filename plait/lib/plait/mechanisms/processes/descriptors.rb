# frozen_string_literal: true

require_relative "../mechanism"

module Plait
  module Mechanisms
    class Processes < Mechanism
      # The pipe ends that this process holds towards its children. A child closes all but its own: a copy left open in
      # a sibling, or in a child of another pool, would hide the end of the pipe from its reader. Close-on-exec does not
      # help here, a fork without exec keeps everything.
      module Descriptors
        @lock = Thread::Mutex.new
        @open = {}.compare_by_identity

        class << self
          # Between the opening of a pipe and {.hold} nobody else may fork.
          def exclusively(&block) = @lock.synchronize(&block)

          # Only inside {.exclusively}.
          # @param ios [Array<IO>]
          def hold(ios) = ios.each { |io| @open[io] = true }

          # @param ios [Array<IO>]
          def close(ios)
            @lock.synchronize do
              ios.each do |io|
                @open.delete(io)
                io.close
              end
            end
          end

          # Only in a child, first of all: its copy of the lock is held, by the thread that forked.
          # @param own [Array<IO>]
          def keep_only(own)
            foreign = @open.keys
            @lock = Thread::Mutex.new
            @open = {}.compare_by_identity
            hold(own)
            foreign.each(&:close)
          end
        end
      end
    end
  end
end
