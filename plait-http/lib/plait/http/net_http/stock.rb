# frozen_string_literal: true

require "plait/values/deadline"

module Plait
  module HTTP
    module NetHTTP
      # The connections of one {Key}. The pool's lock is held.
      class Shelf
        # @return [Array<Connection>] that belong to no session, the longest idle first
        attr_reader :idle
        # @return [Hash{Lease => true}] the longest resting first
        attr_reader :resting
        # @return [Array<Lease>] in the order in which they came
        attr_reader :line
        # @return [Integer] leases that are held or resting
        attr_accessor :leased

        def initialize
          @idle = []
          @resting = {}.compare_by_identity
          @line = []
          @leased = 0
        end

        # @return [Integer] connections
        def size = @idle.size + @leased

        def empty? = size.zero? && @line.empty?

        # The one that was used last: it is the least likely to be stale, and the others can grow old.
        def take_idle(patience) = @idle.last && !@idle.last.idle_longer_than?(patience) ? @idle.pop : nil

        # @return [Connection, nil] taken away from the session that has rested longest
        def take_resting(patience)
          lease, = @resting.first
          take_away(lease) if lease && !lease.connection.idle_longer_than?(patience)
        end

        # @return [Float, nil] since when its longest unused connection has not been used
        def oldest = (@idle.first || @resting.first&.first&.connection)&.idle_since

        # @return [Connection] that one
        def take_oldest = @idle.shift || take_away(@resting.first.first)

        # @param limit [Numeric] seconds
        # @param now [Float] monotonic seconds
        # @return [Array<Connection>] that have been unused for longer
        def take_overdue(limit, now)
          overdue, @idle = @idle.partition { |connection| connection.idle_longer_than?(limit, now) }
          forgotten = @resting.keys.select { |lease| lease.connection.idle_longer_than?(limit, now) }
          overdue + forgotten.map { |lease| take_away(lease) }
        end

        private

        def take_away(lease)
          @resting.delete(lease)
          @leased -= 1
          lease.give_up
        end
      end
      private_constant :Shelf

      # What a {Pool} has, and by which rules it is given out. Knows no lock, no thread and no system call: the pool sees
      # to these.
      #
      # First come, first served; but no session waits behind one whose own origin is full. Where there is no room, the longest
      # unused connections are closed: idle ones, then those of sessions between two requests.
      class Stock
        # Seconds between two looks for overdue connections. No thread does it, but the next session.
        SWEEP = 1.0

        attr_accessor :settings
        # @return [Hash{Symbol => Integer}]
        attr_reader :counts

        def initialize(settings)
          @settings = settings
          @shelves = {}
          @waiting = {}.compare_by_identity # shelves with a line
          @counts = Hash.new(0)
          @doomed = []
          @lost = []
          @tickets = 0
          @next_sweep = Deadline.now + SWEEP
        end

        # @return [Array<Shelf>]
        def shelves = @shelves.values

        # @return [Array<Connection>, nil] to be closed, each told once
        def take_doomed = @doomed.empty? ? nil : @doomed.slice!(0..)

        # Puts a new lease into the line, where it may get its connection at once.
        def enter(lease)
          sweep
          shelf = shelf(lease.key)
          lease.queue(@tickets += 1)
          shelf.line << lease
          @waiting[shelf] = true
          serve
          count(:waited) unless lease.held?
        end

        def rest(lease)
          return unless lease.held? && lease.valid?

          lease.state = :resting
          shelf(lease.key).resting[lease] = true
          serve
        end

        def wake(lease)
          return false unless lease.valid?

          shelf(lease.key).resting.delete(lease)
          lease.state = :held
          true
        end

        def release(lease) = leave(lease) { |connection, shelf| shelf.idle << connection }

        def discard(lease) = leave(lease) { |connection| doom(connection, :discarded) }

        # A stale connection's lease gets the next one, or may open one.
        def replace(lease)
          return unless lease.valid?

          doom(lease.connection, :stale)
          lease.connection = shelf(lease.key).take_idle(lease.patience)
          count(:opened) unless lease.connection
        end

        def clear
          shelves.each do |shelf|
            shelf.idle.slice!(0..).each { |connection| doom(connection, :evicted) }
            shelf.resting.each_key { |lease| lease.state = :held }
            shelf.resting.clear
          end
          serve
        end

        # A finalizer can't take the lock; so it is the next one who does that puts things right.
        def settle_lost
          while (key = @lost.shift)
            shelf(key).leased -= 1
            serve
          end
        end

        private

        def count(name) = @counts[name] += 1

        def doom(connection, reason)
          count(reason)
          @doomed << connection
        end

        def shelf(key) = @shelves[key] ||= Shelf.new

        def leave(lease)
          shelf = shelf(lease.key)
          leave_line(lease, shelf) if lease.state == :waiting
          if lease.valid?
            shelf.resting.delete(lease)
            shelf.leased -= 1
            connection = lease.give_up
            yield(connection, shelf) if connection
          end
          lease.state = :over
          serve
          @shelves.delete(lease.key) if shelf.empty?
        end

        def leave_line(lease, shelf)
          shelf.line.delete(lease)
          @waiting.delete(shelf) if shelf.line.empty?
        end

        # In the order of the line, as far as there are connections and room.
        def serve
          nil while @waiting.any? && @waiting.keys.sort_by { |shelf| shelf.line.first.ticket }.any? { |shelf| satisfy(shelf) }
        end

        def satisfy(shelf)
          patience = shelf.line.first.patience
          connection = shelf.take_idle(patience)
          connection ||= shelf.take_resting(patience) unless room?(shelf)
          return false unless connection || make_room(shelf)

          shelf.leased += 1
          shelf.line.shift.grant(connection, @lost)
          @waiting.delete(shelf) if shelf.line.empty?
          count(connection ? :reused : :opened)
          true
        end

        def room?(shelf) = shelf.size < settings.per_key && shelves.sum(&:size) < settings.total

        def make_room(shelf)
          until room?(shelf)
            crowded = shelf.size < settings.per_key ? shelves : [shelf]
            victim = crowded.select(&:oldest).min_by(&:oldest) or return false
            doom(victim.take_oldest, :evicted)
          end
          true
        end

        def sweep
          now = Deadline.now
          return if now < @next_sweep

          @next_sweep = now + SWEEP
          shelves.each do |shelf|
            shelf.take_overdue(settings.idle_timeout, now).each { |connection| doom(connection, :evicted) }
          end
          @shelves.delete_if { |_, shelf| shelf.empty? }
        end
      end
      private_constant :Stock
    end
  end
end
