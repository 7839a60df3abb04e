# frozen_string_literal: true

require "net/http"
require_relative "settings"
require_relative "statistics"
require_relative "stock"

module Plait
  module HTTP
    module NetHTTP
      # The connections of all Net::HTTP objects of a process, for any number of threads and fibers.
      #
      # All state changes under one lock, which is held for microseconds, never while something waits, and during which no
      # exception comes in from outside. It is tried, and not waited for: a fiber that waits for a Mutex goes through its
      # scheduler, which Ruby before 3.3 does not survive when threads want the same one.
      class Pool
        COUNTED = %i[opened reused stale evicted discarded waited].freeze
        NEVER = { Object => :never }.freeze # to make one calls a method, at whose end Ruby looks for interrupts

        # @param settings [Settings]
        def initialize(settings = Settings.new)
          @lock = Thread::Mutex.new
          @pid = Process.pid
          @stock = Stock.new(settings)
        end

        # @return [Settings]
        def settings = @stock.settings

        def settings=(settings)
          exclusively { |stock| stock.settings = settings }
        end

        # Waits for a connection or the right to open one, which the lease stands for afterwards. Whatever happens, the
        # lease must then be given to {#release} or {#discard}.
        # @param lease [Lease] a new one
        # @param timeout [Numeric, nil] seconds to stand in the line
        # @return [void]
        # @raise [Net::OpenTimeout]
        def checkout(lease, timeout)
          exclusively { |stock| stock.enter(lease) }
          wait(lease, timeout) unless lease.held?
          exclusively { |stock| stock.replace(lease) } while lease.connection&.stale?
        end

        # The session's exchange is over, and its connection fit for the next one.
        # @return [void]
        def rest(lease) = exclusively { |stock| stock.rest(lease) }

        # The session's next exchange begins.
        # @return [Boolean] whether it still has its connection
        def wake(lease) = exclusively { |stock| stock.wake(lease) }

        # Somebody else may use its connection now.
        # @return [void]
        def release(lease) = exclusively { |stock| stock.release(lease) }

        # Its connection is closed.
        # @return [void]
        def discard(lease)
          lease.foreign? ? lease.give_up&.close : exclusively { |stock| stock.discard(lease) }
        end

        # Closes what nobody uses. What is in use stays with its sessions, which close it when they are done.
        # @return [void]
        def clear = exclusively(&:clear)

        # @return [Statistics]
        def statistics
          exclusively do |stock|
            shelves = stock.shelves
            Statistics.new(**COUNTED.to_h { |name| [name, stock.counts[name]] },
                           in_use: shelves.sum(&:leased), idle: shelves.sum { |shelf| shelf.idle.size },
                           waiting: shelves.sum { |shelf| shelf.line.size })
          end
        end

        private

        # Connections are closed when the lock is free again: with TLS that writes.
        def exclusively(&block)
          Thread.handle_interrupt(NEVER) do
            Thread.pass until @lock.try_lock
            begin
              with_stock(&block)
            ensure
              doomed = @stock.take_doomed
              @lock.unlock
              doomed&.each(&:close)
            end
          end
        end

        def with_stock
          doomed = begin_anew if @pid != Process.pid
          @stock.settle_lost
          yield(@stock)
        ensure
          doomed&.each(&:close)
        end

        # In a fork all connections are its parent's.
        # @return [Array<Connection>]
        def begin_anew
          @pid = Process.pid
          inherited = @stock.shelves.flat_map(&:idle)
          @stock = Stock.new(settings)
          inherited
        end

        # Who leaves the line by an exception is taken out of it by {#discard}.
        def wait(lease, timeout)
          timeout = nil if timeout&.zero? # to Net::HTTP that is no limit
          lease.wait(timeout) or raise Net::OpenTimeout, full(lease, timeout)
        end

        def full(lease, timeout)
          _, address, port = lease.key
          "no connection to #{address}:#{port} came free within #{timeout} s: Plait::HTTP::NetHTTP.configure allows " \
            "#{settings.per_key} of a kind (per_key) and #{settings.total} in all (total)"
        end
      end
    end
  end
end
