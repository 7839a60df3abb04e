# frozen_string_literal: true

require_relative "errors"
require "plait/values/errors"

module Plait
  module DB
    # The gems of the drivers, each loaded by its bridge only, and what a fiber does where a driver can't wait as fibers do:
    #
    # | driver | what | why | what is done |
    # |---|---|---|---|
    # | mysql2, trilogy, pg | connecting | awaited in C, or lost by an interrupt as it ends | {DetachedCall}: its own thread |
    # | mysql2 | prepared statements | the answer is awaited in C | Plait.offload |
    # | mysql2 | `stream` | rows are awaited in C, one by one | Mysql2::Batches: a thread fetches ahead |
    # | sqlite3 | everything | it computes, and keeps Ruby's lock even on a thread | its progress handler: Sqlite::Pace |
    # | mongo | `IO.select`, `Kernel.select` | no hook on Ruby 3.1 | Plait::Mechanisms::Compat, for every program |
    # | all | many rows that are at hand | nothing is waited for, so no other fiber gets its turn | {give_turn} |
    #
    # redis-client needs nothing: it waits in Ruby's hooks, and resolves names by them. mysql2 awaits the rows of a `query` in C
    # too, once the first of them has come: `stream` is for results that are large.
    # @api private
    module Driver
      # Rows between two turns of other fibers; raising it keeps these waiting longer.
      ROWS = 500

      # Lets the other fibers run.
      def self.give_turn = Fiber.current_scheduler && sleep(0)

      # @param gem [String] its name
      # @param requirement [Array<String>] on its version: what a bridge or a patch was tested with
      # @param feature [String] what is required
      # @raise [UnsupportedError] when it is not there, or is another version
      def self.load(gem, *requirement, feature: gem)
        yield
        check(gem, requirement)
      rescue LoadError => e
        raise unless e.path == feature

        raise UnsupportedError, "this database needs the gem #{gem}: add #{line(gem, requirement)} to the Gemfile"
      end

      # A gem that was not loaded by RubyGems has no version that could be known.
      def self.check(gem, requirement)
        version = defined?(Gem) && Gem.loaded_specs[gem]&.version
        return if !version || Gem::Requirement.new(requirement).satisfied_by?(version)

        raise UnsupportedError, "Plait does not know the gem #{gem} #{version}: write #{line(gem, requirement)} in the Gemfile"
      end

      def self.line(gem, requirement) = "`gem \"#{gem}\", #{requirement.map { |one| "\"#{one}\"" }.join(", ")}`"
      private_class_method :check, :line
    end

    # Keeps a second thread or fiber out while a connection is in the middle of a call. Without it two fibers on one
    # connection would silently get each other's rows.
    class Guard
      def initialize
        @lock = Mutex.new
      end

      # A call inside of a call (a block that is given a row and asks for more) is the same fiber's affair.
      # @return [Object] what the block returns
      # @raise [ConnectionInUse]
      def hold
        return yield if @lock.owned?
        raise ConnectionInUse unless @lock.try_lock

        begin
          yield
        ensure
          @lock.unlock
        end
      end

      # @param names [Array<Symbol>] of methods of the class that the module is prepended to or is a parent of
      # @return [Module] with these methods, each of which holds the guard that `plait_guard` returns
      def self.around(names)
        Module.new do
          names.each { |name| define_method(name) { |*args, **opts, &block| plait_guard.hold { super(*args, **opts, &block) } } }
        end
      end
    end
    private_constant :Guard
  end
end
