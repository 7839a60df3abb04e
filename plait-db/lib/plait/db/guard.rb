# frozen_string_literal: true

require_relative "connection_in_use"

module Plait
  module DB
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
  end
end
