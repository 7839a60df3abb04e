# frozen_string_literal: true

module Plait
  module DB
    # The gems of the drivers, which their bridges load. Where a driver can't wait as fibers do, a bridge has a way around it:
    #
    # | driver | call | reason | way |
    # |---|---|---|---|
    # | mysql2, trilogy, pg | connecting | waits in C, or is lost by an interrupt as it ends | {DetachedCall}: its own thread |
    # | mysql2 | prepared statements | waits in C for the answer | Plait.offload |
    # | mysql2 | `stream` | waits in C for each row | Mysql2::Batches: a thread fetches ahead |
    # | sqlite3 | all calls | it computes, and keeps Ruby's lock even on a thread | its progress handler: Sqlite::Pace |
    # | mongo | `IO.select`, `Kernel.select` | no hook on Ruby 3.1 | Plait::Mechanisms::Compat, for every program |
    # | all | many rows in memory | no wait, so no other fiber runs | {give_turn} |
    #
    # redis-client needs no help: it waits and resolves names in Ruby's hooks. mysql2 waits in C for the rows of a `query`, too,
    # after the first one: `stream` is for large results.
    # @api private
    module Driver
      # Rows between two turns of other fibers; raising it makes other fibers wait longer.
      ROWS = 500

      def self.give_turn = Fiber.current_scheduler && sleep(0)

      # @param rows [Enumerable] that come without a wait
      # @yieldparam row [Object]
      def self.each_in_turns(rows)
        rows.each_with_index do |row, index|
          give_turn if (index % ROWS).zero?
          yield row
        end
      end

      # @param gem [String] its name
      # @param requirement [Array<String>] versions that the bridge was tested with
      # @param feature [String] the path to require
      # @raise [UnsupportedError] it is missing, or has another version
      def self.load(gem, *requirement, feature: gem)
        yield
        check(gem, requirement)
      rescue LoadError => e
        raise unless e.path == feature

        raise UnsupportedError, "this database needs the gem #{gem}: add #{line(gem, requirement)} to the Gemfile"
      end

      # For pg 1.7.0, which makes an IO of its socket, and only then says that it must not close it. An interrupt in between
      # leaves an IO with which a garbage collection closes whatever has the number by then. After connecting pg makes one in C.
      module OneSocket
        def socket_io = Uninterruptible.run { super }

        def reset = super.tap { socket_io }
      end

      def self.ready(connection)
        ::PG::CancelConnection.prepend(OneSocket) if defined?(::PG::CancelConnection)
        connection.respond_to?(:socket_io) ? connection.extend(OneSocket).tap(&:socket_io) : connection
      end

      def self.check(gem, requirement)
        version = defined?(Gem) && Gem.loaded_specs[gem]&.version # none where RubyGems has not loaded it
        return if !version || Gem::Requirement.new(requirement).satisfied_by?(version)

        raise UnsupportedError, "Plait does not know the gem #{gem} #{version}: write #{line(gem, requirement)} in the Gemfile"
      end

      def self.line(gem, requirement) = "`gem \"#{gem}\", #{requirement.map { |one| "\"#{one}\"" }.join(", ")}`"
      private_class_method :check, :line
      private_constant :OneSocket
    end

    # Keeps a second thread or fiber out while a connection is in the middle of a call. Without it two fibers on one
    # connection would silently get each other's rows.
    class Guard
      def initialize
        @lock = Mutex.new
      end

      # A call inside of a call (a block that is given a row and asks for more) is the same fiber's affair.
      # @return [Object] the block's value
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
