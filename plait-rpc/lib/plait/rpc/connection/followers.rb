# frozen_string_literal: true

require_relative "../lock"
require "plait/values/deadline"
require "plait/values/errors"

module Plait
  module RPC
    class Connection
      # Who is told of answers that nobody waits for. One thread calls the blocks, one after another, and sees to it that what has
      # a time is late when that is over; where no server reads, another one does, until the connection is over.
      class Followers
        # @param line [NativeLine, PureLine]
        # @param reads [Boolean] whether it has to be seen to that somebody reads
        def initialize(line, reads:)
          @line = line
          @lock = Lock.new
          @blocks = {}.compare_by_identity
          @due = []
          thread("reads for those who follow answers") { read } if reads
        end

        def add(future, &block)
          @lock.exclusively { note(future, block) }
          due(future) unless @line.follow(future)
        end

        # It is settled.
        def due(future)
          @lock.exclusively do
            @due << future
            rouse
          end
        end

        # The connection is over: whoever comes from now on is told at once.
        def close
          @lock.exclusively do
            @over = true
            @sleeper&.call
          end
        end

        private

        def thread(what, &block)
          Thread.new(&block).tap { |thread| thread.name = "plait: #{what}" }
        end

        def read
          @line.run
        rescue Error
          nil # it is over
        end

        # All of these are under the lock.

        def note(future, block)
          (@blocks[future] ||= []) << block
          engage unless @thread&.alive?
          limit = future.limit
          return if limit.nil? || (@earliest && @earliest <= limit)

          @earliest = limit
          @sleeper&.call
        end

        # (In a fork it is not alive.)
        def rouse
          @thread&.alive? ? @sleeper&.call : engage
        rescue ThreadError
          nil # the process ends
        end

        def engage
          @sleeper = nil
          @thread = thread("follows answers") { work }
        end

        # @return [#call, nil]
        def take
          while (future = @due.first)
            block = @blocks[future]&.shift
            return block if block

            @blocks.delete(@due.shift)
          end
        end

        # @return [Lock::Sleeper, nil] nil: it leaves
        def lie_down
          return @thread = nil if @over

          @sleeper = Lock::Sleeper.new
        end

        # @return [Array<Future>] whose time is over
        def take_late
          late, others = @blocks.keys.select(&:limit).partition { |future| future.limit <= Deadline.now }
          @earliest = others.map(&:limit).min
          late
        end

        # Should a block end this thread, by an error or by Thread.exit, the next one goes on.
        def replace
          @thread = nil
          rouse if @due.any? || !@over
        end

        # These are not.

        # (Who made this thread holds interrupts back; blocks don't.)
        def work
          Thread.handle_interrupt(Object => :immediate) do
            while (block = next_block)
              block.call
            end
          end
          left = true
        ensure
          @lock.exclusively { replace } unless left
        end

        # @return [#call, nil] nil: there will be none
        def next_block
          loop do
            drop_late if late?
            sleeper = nil
            block = @lock.exclusively { take || ((sleeper = lie_down) && nil) }
            return block unless sleeper

            rest(sleeper)
          end
        end

        # (At any time.)
        def late? = !@earliest.nil? && @earliest <= Deadline.now

        def drop_late = @lock.exclusively { take_late }.each { |future| @line.drop(future, true) }

        def rest(sleeper)
          @lock.sleep(sleeper, @earliest && [@earliest - Deadline.now, 0].max)
        ensure
          @lock.exclusively { @sleeper = nil }
        end
      end
      private_constant :Followers
    end
  end
end
