# frozen_string_literal: true

require "etc"
require_relative "portable"
require_relative "ractors/explanation"
require_relative "ractors/body"
require_relative "ractors/pool"
require_relative "scope/threaded"

module Plait
  module Mechanisms
    # A pool of ractors: pure Ruby on every core, in one process. Ruby lets a ractor see only what can't change, so the
    # block may use its item, constants that are deeply frozen, and what it makes itself; items and results are copied.
    #
    # Known of the Rubies this was measured on (two cores):
    # - Integer arithmetic ran 1.8 to 1.9 times as fast as one after another on Ruby 3.1; code that allocates much gains
    #   less or nothing, because all ractors stop for each garbage collection (1.2 and below, where processes reach 2).
    # - Once a process has started a ractor it stays in Ruby's multi-ractor mode.
    # - Up to Ruby 3.2 a ractor has one place to wait at for all its threads: a program that itself waits in `Ractor#take`
    #   or `Ractor.receive` on two threads of the main ractor gets its messages mixed up. This pool stays clear of that
    #   place (see {PipePort}).
    # - Ruby 3.3 and 3.4 at times never again run the other threads of a ractor at the end of one of them (co_start in
    #   thread_pthread_mn.c; not in 4.0), and a process with such a ractor does not end. Each worker has two or three
    #   threads. Ruby 3.4 leaves out threads that keep their native thread (`rb_thread_lock_native_thread`); 3.3 has no such call.
    class Ractors < Mechanism
      FORGOTTEN = "Ruby %s may forget a ractor in which a thread has ended, and the process would never end%s; " \
                  "use Ruby 4.0, or on: :processes"

      def default_limit = Etc.nprocessors

      def unavailable
        return "this Ruby has no ractors; use on: :threads#{" or on: :processes" if can_fork?}" unless defined?(::Ractor)
        return format(FORGOTTEN, RUBY_VERSION, "") if RUBY_VERSION.start_with?("3.3")

        without_extension || Mechanism.beyond_this_place("open a pool of them")
      end

      # @raise [UnshareableError] if Ruby can't isolate the block
      def executor(attempt, limit:) = Pool.new(Body.of(attempt.body), attempt.policy, limit)

      def scope(options:, &block) = Scope::Threaded.open(options: options, isolate: Isolated.new, &block)

      private

      def without_extension
        format(FORGOTTEN, RUBY_VERSION, " without the C extension") if RUBY_VERSION.start_with?("3.4") && !Native.available?
      end

      def can_fork? = Process.respond_to?(:fork)

      # Runs the block of a scope's task in a ractor of its own.
      class Isolated
        # Waits. Whatever interrupts the wait ends the ractor, too.
        # @param arguments [Array] of the block; copied
        # @return [Object] a copy of the block's value
        # @raise [Exception] the block's error
        # @raise [UnshareableError] if the block can't be isolated, an argument or the result can't be copied
        # @yield never: for a system that allows no further worker, other mechanisms do
        def call(block, arguments, &_refused)
          pool = Pool.new(Body.of(block), Options.new, 1)
          pool.submit(0, arguments, arguments)
          pool.take.value!
        ensure
          pool&.close
        end
      end
    end
    private_constant :Ractors
  end
end
