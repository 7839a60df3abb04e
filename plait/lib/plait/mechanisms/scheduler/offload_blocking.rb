# frozen_string_literal: true

module Plait
  class Scheduler
    # For loops that have a thread pool beside them (:hybrid).
    module OffloadBlocking
      # Ruby 3.4: an operation that blocks without the GVL, such as Zlib's.
      # @param work [Proc]
      def blocking_operation_wait(work) = offload { work.call }
    end
  end
end
