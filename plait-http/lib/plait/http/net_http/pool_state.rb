# frozen_string_literal: true

require "plait/values/deadline"

module Plait
  module HTTP
    module NetHTTP
      # The connections of one {Key}. The pool's lock is held.
      class KeyState
        # @return [Array<Connection>] that belong to no session, the longest idle first
        attr_reader :idle
        # @return [Hash{Checkout => true}] the longest resting first
        attr_reader :resting
        # @return [Array<Checkout>] in the order in which they came
        attr_reader :queue
        # @return [Integer] checkouts that are held or resting
        attr_accessor :taken

        def initialize
          @idle = []
          @resting = {}.compare_by_identity
          @queue = []
          @taken = 0
        end

        # @return [Integer] connections
        def size = @idle.size + @taken

        def empty? = size.zero? && @queue.empty?

        # The one that was used last: it is the least likely to be stale, and the others can grow old.
        def take_idle(patience) = @idle.last && !@idle.last.idle_longer_than?(patience) ? @idle.pop : nil

        # @return [Connection, nil] taken away from the session that has rested longest
        def take_resting(patience)
          checkout, = @resting.first
          take_away(checkout) if checkout && !checkout.connection.idle_longer_than?(patience)
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
          forgotten = @resting.keys.select { |checkout| checkout.connection.idle_longer_than?(limit, now) }
          overdue + forgotten.map { |checkout| take_away(checkout) }
        end

        private

        def take_away(checkout)
          @resting.delete(checkout)
          @taken -= 1
          checkout.give_up
        end
      end

      # The connections of a {Pool}, and the rules by which it lends them. It has no lock, no thread and makes no system call.
      #
      # First come, first served; but no session waits behind one whose own origin is full. Where there is no room, the longest
      # unused connections are closed: idle ones, then connections of sessions between two requests.
      class PoolState
        # Seconds between two looks for overdue connections. No thread does it, but the next session.
        SWEEP = 1.0

        attr_accessor :settings
        # @return [Hash{Symbol => Integer}]
        attr_reader :counts

        def initialize(settings)
          @settings = settings
          @key_states = {}
          @waiting = {}.compare_by_identity # with a queue
          @counts = Hash.new(0)
          @doomed = []
          @lost = []
          @tickets = 0
          @next_sweep = Deadline.now + SWEEP
        end

        # @return [Array<KeyState>]
        def key_states = @key_states.values

        # @return [Array<Connection>, nil] to be closed, each given once
        def take_doomed = @doomed.empty? ? nil : @doomed.slice!(0..)

        # Puts a new checkout into the queue, where it may get its connection at once.
        def enter(checkout)
          sweep
          key_state = state_of(checkout.key)
          checkout.queue(@tickets += 1)
          key_state.queue << checkout
          @waiting[key_state] = true
          serve
          count(:waited) unless checkout.held?
        end

        def rest(checkout)
          return unless checkout.held? && checkout.valid?

          checkout.state = :resting
          state_of(checkout.key).resting[checkout] = true
          serve
        end

        def wake(checkout)
          return false unless checkout.valid?

          state_of(checkout.key).resting.delete(checkout)
          checkout.state = :held
          true
        end

        def release(checkout) = leave(checkout) { |connection, key_state| key_state.idle << connection }

        def discard(checkout) = leave(checkout) { |connection| doom(connection, :discarded) }

        # A stale connection's checkout gets the next one, or may open one.
        def replace(checkout)
          return unless checkout.valid?

          doom(checkout.connection, :stale)
          checkout.connection = state_of(checkout.key).take_idle(checkout.patience)
          count(:opened) unless checkout.connection
        end

        def clear
          key_states.each do |key_state|
            key_state.idle.slice!(0..).each { |connection| doom(connection, :evicted) }
            key_state.resting.each_key { |checkout| checkout.state = :held }
            key_state.resting.clear
          end
          serve
        end

        # A finalizer can't take the lock, so the next owner of the lock counts the lost checkouts.
        def settle_lost
          while (key = @lost.shift)
            state_of(key).taken -= 1
            serve
          end
        end

        private

        def count(name) = @counts[name] += 1

        def doom(connection, reason)
          count(reason)
          @doomed << connection
        end

        def state_of(key) = @key_states[key] ||= KeyState.new

        def leave(checkout)
          key_state = state_of(checkout.key)
          leave_queue(checkout, key_state) if checkout.state == :waiting
          if checkout.valid?
            key_state.resting.delete(checkout)
            key_state.taken -= 1
            connection = checkout.give_up
            yield(connection, key_state) if connection
          end
          checkout.state = :over
          serve
          @key_states.delete(checkout.key) if key_state.empty?
        end

        def leave_queue(checkout, key_state)
          key_state.queue.delete(checkout)
          @waiting.delete(key_state) if key_state.queue.empty?
        end

        # In the order of their tickets, as far as there are connections and room.
        def serve
          nil while @waiting.any? && @waiting.keys.sort_by { |waiting| waiting.queue.first.ticket }.any? { |one| satisfy(one) }
        end

        def satisfy(key_state)
          patience = key_state.queue.first.patience
          connection = key_state.take_idle(patience)
          connection ||= key_state.take_resting(patience) unless room?(key_state)
          return false unless connection || make_room(key_state)

          key_state.taken += 1
          key_state.queue.shift.grant(connection, @lost)
          @waiting.delete(key_state) if key_state.queue.empty?
          count(connection ? :reused : :opened)
          true
        end

        def room?(key_state) = key_state.size < settings.per_key && key_states.sum(&:size) < settings.total

        def make_room(key_state)
          until room?(key_state)
            crowded = key_state.size < settings.per_key ? key_states : [key_state]
            victim = crowded.select(&:oldest).min_by(&:oldest) or return false
            doom(victim.take_oldest, :evicted)
          end
          true
        end

        def sweep
          now = Deadline.now
          return if now < @next_sweep

          @next_sweep = now + SWEEP
          key_states.each do |key_state|
            key_state.take_overdue(settings.idle_timeout, now).each { |connection| doom(connection, :evicted) }
          end
          @key_states.delete_if { |_, key_state| key_state.empty? }
        end
      end
      private_constant :KeyState, :PoolState
    end
  end
end
