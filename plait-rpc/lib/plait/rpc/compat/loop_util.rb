# frozen_string_literal: true

require_relative "version"

module Plait
  module RPC
    module Compat
      # What those have in common that have a loop.
      module LoopUtil
        # @return [Loop]
        attr_reader :loop

        # @see Loop#start_timer
        def start_timer(interval, repeating, &block) = @loop.start_timer(interval, repeating, &block)

        # @param task [#call, nil] instead of the block
        # @see Loop#submit
        def submit(task = nil, &block) = @loop.submit(&(task ? task.method(:call) : block))

        # @see Loop#run
        def run = @loop.run

        # @see Loop#stop
        def stop = @loop.stop
      end
    end
  end
end
