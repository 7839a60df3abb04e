# frozen_string_literal: true

module Plait
  module Mechanisms
    # Ends what a run leaves whose caller is gone: a Fiber that is garbage runs none of its `ensure` parts, and an enumerator
    # that was begun by `next` and dropped is one.
    class LastWill
      # @param run [Object] lives as long as its caller does; nothing of the executor's remains refers to it
      # @param executor [Executor]
      def self.of(run, executor)
        remains = executor.remains
        ObjectSpace.define_finalizer(run, new(remains)) if remains
      end

      # Its caller has come to the end.
      def self.revoke(run) = ObjectSpace.undefine_finalizer(run)

      # @param remains [#call]
      def initialize(remains)
        @remains = remains
        @pid = Process.pid
      end

      # A finalizer runs in the middle of anything, so that it must not wait; and in a child that was forked meanwhile, which
      # has nothing to end.
      def call(_id)
        Thread.new { @remains.call } if Process.pid == @pid
      rescue ThreadError
        nil # the system gives none, or the process ends, and all this with it
      end
    end
  end
end
