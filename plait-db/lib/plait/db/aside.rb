# frozen_string_literal: true

module Plait
  module DB
    # What a driver can't wait for through a fiber's scheduler, and what is done about it: all of it, and nowhere else.
    #
    # | driver | what | why | here |
    # |---|---|---|---|
    # | mysql2, trilogy, pg | connecting | awaited in C, or lost by an interrupt as it ends | {Apart}: a thread of its own |
    # | mysql2 | prepared statements | the answer is awaited in C | {call}: on a thread |
    # | mysql2 | `stream` | rows are awaited in C, one by one | {Batches}: a thread fetches ahead |
    # | sqlite3 | everything | it computes, and keeps Ruby's lock even on a thread | its progress handler: {breathe} |
    # | mongo | `IO.select`, `Kernel.select` | no hook on Ruby 3.1 | Plait::Mechanisms::Compat, for every program |
    # | all | many rows that are at hand | nothing is waited for, so no other fiber gets its turn | {breathe} |
    #
    # redis-client needs nothing: it waits in Ruby's hooks, and resolves names by them. The rows of a `query` with mysql2 are
    # awaited in C too, once the first of them has come: `stream` is for results that are large.
    module Aside
      # Rows between two pauses.
      ROWS = 500

      module_function

      # @param stop [#call, nil] breaks the call off when nobody waits for it any longer
      # @return [Object] what the block returns
      def call(stop: nil, &block) = Plait.offload(stop: stop, &block)

      # @return [Boolean] whether waiting has to leave the event loop alone
      def fibers? = !Fiber.current_scheduler.nil?

      # Lets the other fibers run.
      def breathe = fibers? && sleep(0)
    end
  end
end
