# frozen_string_literal: true

require "timeout"

module Plait
  module DB
    # Two fibers or threads on one connection.
    class ConnectionInUse < UsageError
      def initialize(message = "this connection is in the middle of another fiber's or thread's call: each takes one of its " \
                               "own, by a call of the database or its `with`")
        super
      end
    end

    # A statement, or COMMIT, in a transaction that no longer exists. Nothing of it is done, unless one of its statements has
    # ended it: all statements before that one are done.
    class RolledBack < Error
      REASONS = {
        forked: "it is the parent's, and this process is a fork",
        closed: "its connection was closed in the middle of a call",
        failed: "one of its statements had failed"
      }.freeze
      ENDED = "this transaction is over: one of its statements has ended it, and the statements before that one are done"
      private_constant :REASONS, :ENDED

      # @param reason [StandardError, Symbol] the driver's error, or one of these words
      # @return [RolledBack]
      def self.because(reason)
        return new(ENDED) if reason == :ended

        why = REASONS.fetch(reason) { "the server said: #{reason.message}" }
        new("this transaction was rolled back, since #{why}. Let the error end its block, and run the whole block again")
      end
    end

    # COMMIT was sent, and its answer did not come: a timeout, a cancellation, or a connection that ended.
    class CommitUnknown < Unrepeatable
      def initialize(message = "COMMIT was sent and its answer did not come: the transaction may be done or not. Look in the " \
                               "database whether it is, before you run it again")
        super
      end
    end

    # A timeout or a cancellation came together with the answer to COMMIT.
    class CommittedLate < Unrepeatable
      def initialize(message = "the transaction is committed, and its time was over just then: don't run it again") = super
    end

    # Raises the error of a transaction whose end was interrupted.
    # @api private
    module Commit
      # Errors of a timeout or a cancellation. Interrupt and SystemExit end the program, and stay unchanged.
      INTERRUPTS = [Replaceable, *(::Timeout::ExitException if defined?(::Timeout::ExitException))].freeze
      CUTS = [StandardError, *INTERRUPTS].freeze

      module_function

      # @param cut [Exception] the interrupt
      # @raise [Exception] a {Replaceable} one goes on to its time limit or task
      def raise_instead(error, cut)
        raise cut if cut.is_a?(Unrepeatable)
        raise error, cause: cut unless cut.is_a?(Replaceable)

        cut.instead = error
        raise cut
      end

      # Around a transaction of a library, which has work to do after its COMMIT.
      # @param database [Object] each fiber has one transaction of it at a time
      # @return [Object] the block's value
      def around(database)
        return yield if committed.key?(database)

        begin
          committed[database] = false
          yield
        rescue *INTERRUPTS => e
          committed[database] ? raise_instead(CommittedLate.new, e) : raise
        ensure
          committed.delete(database)
        end
      end

      # Around a library's own COMMIT.
      # @param database [Object] see {#around}
      # @param answered [#call] (error) => whether the server has refused it
      # @return [Object] the block's value
      def watch(database, answered)
        yield.tap { committed[database] = true if committed.key?(database) }
      rescue *CUTS => e
        raise if e.is_a?(StandardError) && answered.call(e)

        raise_instead(CommitUnknown.new, e)
      end

      # @return [Hash{Object => Boolean}] of each database in whose transaction this fiber is, whether its COMMIT is done. (A
      #   variable of the fiber for each would be a Symbol that stays.)
      def committed = Thread.current[:plait_committed] ||= {}.compare_by_identity
    end
    private_constant :Commit
  end
end
