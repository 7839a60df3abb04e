# frozen_string_literal: true

require_relative "../lock"

module Plait
  module RPC
    class Client
      # What the peer asks for and what runs it: threads, as many as there is work for, and none where there is none. They begin
      # with the oldest.
      class Lane
        # Seconds for which a thread waits for more.
        LINGER = 1

        # @param name [String] of its threads
        # @param limit [Integer] threads that are at work at once
        # @param room [Integer] what may wait
        # @yieldparam incoming [Incoming] to be run
        def initialize(name, limit:, room:, &run)
          @name = name
          @limit = limit
          @room = room
          @run = run
          @lock = Lock.new
          @queue = []
          @sleepers = []
          @members = {}.compare_by_identity # fibers that work
          @size = 0
        end

        # @param incoming [Incoming]
        # @return [Boolean] false: too many wait
        def push(incoming)
          @lock.exclusively do
            next false if @queue.size >= @room

            @queue << incoming
            staff
            true
          end
        end

        # Runs the block, which waits for an answer of the peer: meanwhile another thread may work in this one's place.
        # @return [Object] the block's value
        def aside
          return yield unless @lock.exclusively { @members.key?(Fiber.current) }

          grow(1)
          begin
            yield
          ensure
            grow(-1)
          end
        end

        # Nothing comes any more: its threads leave when all is done.
        # @param forget [Boolean] what has not begun is not begun any more
        # @return [void]
        def close(forget:)
          @lock.exclusively do
            @closed = true
            @queue.clear if forget
            @sleepers.each(&:call).clear
          end
        end

        private

        def grow(number)
          @lock.exclusively do
            @limit += number
            staff
          end
        end

        # Under the lock: somebody comes for what waits.
        def staff
          return if @queue.empty?
          return @sleepers.pop.call if @sleepers.any?

          engage if @size < @limit
        end

        def engage
          @size += 1
          Thread.new { at_work { work } }.name = @name
        rescue ThreadError # there are no more threads to be had: those that are there do the work
          @size -= 1
          raise if @size.zero?
        end

        # Who made this thread holds interrupts back; methods don't.
        def at_work(&work)
          @lock.exclusively { @members[Fiber.current] = true }
          Thread.handle_interrupt(Object => :immediate, &work)
        ensure
          retire
        end

        def retire
          @lock.exclusively do
            @members.delete(Fiber.current)
            @size -= 1
            staff
          end
        rescue ThreadError
          nil # the process ends
        end

        def work
          while (incoming = next_one)
            @run.call(incoming)
          end
        end

        # @return [Incoming, nil] nil: it leaves
        def next_one
          sleeper = nil
          incoming = @lock.exclusively { @queue.shift || ((sleeper = lie_down) && nil) unless @size > @limit }
          sleeper ? rest(sleeper) : incoming
        end

        def lie_down = @closed ? nil : Lock::Sleeper.new.tap { |sleeper| @sleepers << sleeper }

        # @return [Incoming, nil] what has come meanwhile
        def rest(sleeper)
          @lock.sleep(sleeper, LINGER)
          @lock.exclusively { @queue.shift }
        ensure
          @lock.exclusively { @sleepers.delete(sleeper) }
        end
      end
    end
  end
end
