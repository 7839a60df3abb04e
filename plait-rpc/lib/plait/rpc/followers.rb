# frozen_string_literal: true

module Plait
  module RPC
    class Connection
      # Calls blocks when futures are settled. One thread calls them, one after another, and settles futures whose time is over;
      # without a server, another thread reads until the connection is over.
      class Followers
        # @param reads [Boolean] whether a thread has to read
        def initialize(line, reads:)
          @line = line
          @lock = Lock.new
          @blocks = {}.compare_by_identity
          @due = []
          thread("reads for followed answers") { read } if reads
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

        # The connection is over: all futures are settled.
        def close
          @lock.exclusively do
            @over = true
            @sleeper&.call
          end
        end

        private

        def thread(what, &block) = Thread.new(&block).tap { |thread| thread.name = "plait: #{what}" }

        def read
          @line.run
        rescue Error
          nil # it is over
        end

        # ---- under the lock

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

          @sleeper = Lock::Sleeper.new.lie_down
        end

        # @return [Array<Future>] whose time is over
        def take_late
          late, others = @blocks.keys.select(&:limit).partition { |future| future.limit <= Deadline.now }
          @earliest = others.map(&:limit).min
          late
        end

        # A block has ended this thread, by an error or by Thread.exit: another one goes on.
        def replace
          @thread = nil
          rouse if @due.any? || !@over
        end

        # ---- not under the lock

        # (The thread that started this one holds interrupts back; blocks don't.)
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

        # @return [#call, nil] nil: the connection is over
        def next_block
          loop do
            drop_late if late?
            sleeper = nil
            block = @lock.exclusively { take || ((sleeper = lie_down) && nil) }
            return block unless sleeper

            rest(sleeper)
          end
        end

        # (With or without the lock.)
        def late? = !@earliest.nil? && @earliest <= Deadline.now

        def drop_late = @lock.exclusively { take_late }.each { |future| @line.drop(future, true) }

        def rest(sleeper)
          @lock.sleep(sleeper, @earliest && [@earliest - Deadline.now, 0].max)
        ensure
          @lock.exclusively { @sleeper = nil }
        end
      end
    end
  end
end
