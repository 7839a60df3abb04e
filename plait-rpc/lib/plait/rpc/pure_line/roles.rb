# frozen_string_literal: true

require_relative "../lock"
require_relative "../pure_wire"
require "plait/values/deadline"

module Plait
  module RPC
    class PureLine
      # A thread or a fiber that stays on a line until it has what it wants. Whoever wakes it, or looks whether it has that,
      # holds the line's lock.
      class Member
        # @return [Float, nil] monotonic seconds
        attr_reader :limit
        # @return [Future, nil]
        attr_reader :future

        # @param limit [Float, nil] monotonic seconds until which it stays
        # @param future [Future, nil] that it waits for
        # @yieldreturn [Boolean] without a future: whether it has what it wants
        def initialize(limit, future = nil, &satisfied)
          @limit = limit
          @future = future
          @satisfied = satisfied
          @left = false
          @thread = Thread.current
          @home = Fiber.current
        end

        # @return [Boolean] whether it goes on only when what runs now is over: it is on the same thread, below a signal handler,
        #   or in a fiber whose loop is kept from running
        def below?
          @thread.equal?(Thread.current) && (@home.equal?(Fiber.current) || Lock.scheduler.nil?)
        end

        def satisfied? = @future ? @future.settled? : @satisfied.call

        def late? = !@limit.nil? && Deadline.now >= @limit

        # @return [Boolean] whether it has given back all that it held
        def left? = @left

        def leave = @left = true

        # Before it is found by others: a wake-up that comes from here on is not lost.
        def lie_down
          @woken = false
          @scheduler = Fiber.current_scheduler if Fiber.respond_to?(:current_scheduler)
          @scheduler ? @fiber = Fiber.current : @bell ||= ConditionVariable.new
        end

        # Sleeps until it is woken, or its time is up. A fiber waits by its scheduler alone, never for the lock.
        # @param lock [Mutex] the line's, which it does not hold
        def sleep(lock)
          return (@scheduler.block(self, seconds) unless @woken) if @scheduler

          lock.synchronize { @bell.wait(lock, seconds) unless @woken }
        end

        def wake
          return if @woken

          @woken = true
          @scheduler ? @scheduler.unblock(self, @fiber) : @bell.signal
        end

        private

        def seconds = @limit && [@limit - Deadline.now, 0].max
      end

      # Who reads and who writes, of those who stay on a line. One reads for all, and one waits until what is to be sent can be;
      # the others sleep. Whoever leaves, however he does (an answer, a timeout, a kill, a cancellation), wakes one who takes
      # over.
      #
      # While the reader is at work, what others have to send is left to him: it goes out by one write before he waits again.
      # While he waits, they send for themselves.
      module Roles
        # Interrupts are held back where the state is between two others. Nothing in there waits.
        NEVER = { Object => :never }.freeze
        READ = PureWire::READABLE
        WRITE = PureWire::WRITABLE
        # Of a member that leaves: whether it has what it wanted.
        DONE = { true => true, false => true }.freeze
        # Seconds.
        LOOK = 0.1
        private_constant :NEVER, :READ, :WRITE, :DONE, :LOOK

        # Stays, so that there is always somebody who reads, until the line is over.
        def run = stay(Member.new(nil) { false })

        private

        # Stays until the member has what it wants.
        # @yield under the lock, first of all
        # @return [Boolean] false when its time was up before
        # @raise [ConnectionClosed, RemoteProtocolError] when the line is over before
        def stay(member, &enter)
          raise @connection.reads_here if @reader&.below?

          duty = exclusively { enter ? enter_as(member, &enter) : next_duty(member) }
          until DONE.key?(duty)
            pause(duty, member)
            hand_on_arrived if @arrived
            duty = exclusively { next_duty(member) }
          end
          duty
        ensure
          exclusively { leave(member) } unless member.left?
        end

        # He who has something to say and stays for the answer reads, if nobody else does.
        def enter_as(member)
          check_open
          yield
          @reader ||= member unless @served
          flush_soon
          @connection.unsent_left if @served && @unsent
          duty(member)
        end

        # Does what can be done without waiting.
        # @return [Boolean, Symbol, Integer] whether it has what it wants, or what to do until the next step
        def next_duty(member)
          return go(member, true) if member.satisfied?

          receive_what_is_there if reads?(member)
          return :again if @arrived && !@handing_on
          return go(member, true) if member.satisfied?
          raise @connection.complaint(@over) if @over
          return go(member, false) if member.late?

          duty(member)
        end

        def reads?(member) = !@served && !@over && (@reader.nil? || @reader.equal?(member))

        def go(member, satisfied)
          leave(member)
          satisfied
        end

        def duty(member)
          return lie_down(member) if @served

          @reader ||= member
          reads = @reader.equal?(member)
          return pass if reads && @woken

          flush_now if reads || @drainer.equal?(member)
          done?(member) ? :again : events_for(member, reads) || lie_down(member)
        end

        # By what it has just sent itself, perhaps: nobody would wake it for that.
        def done?(member) = @over || member.satisfied?

        # Those who were woken may have more to say.
        def pass
          @woken = @reading = false
          :pass
        end

        # @return [Integer, nil] the events that are his to wait for
        def events_for(member, reads)
          events = (reads ? READ : 0) | (drains?(member) ? WRITE : 0)
          @reading = true if reads
          events unless events.zero?
        end

        def drains?(member)
          @drainer ||= member if @unsent
          return false unless @drainer.equal?(member)

          @drainer = nil unless @unsent
          @unsent
        end

        def lie_down(member)
          member.lie_down
          member.future&.awaited_by(member)
          (@sleeping ||= {}.compare_by_identity)[member] = true
          :sleep
        end

        def pause(duty, member)
          case duty
          when :sleep then member.sleep(@lock)
          when :pass then scheduler ? sleep(0) : Thread.pass
          when Integer then @wire.wait(duty, moment(member))
          end
        end

        # Nothing but bytes wakes who waits for the socket: once in a while he looks whether his future was cancelled.
        def moment(member)
          look = Deadline.now + LOOK if member.future
          [look, member.limit].compact.min
        end

        # Gives back all that it held.
        def leave(member)
          member.leave
          @sleeping&.delete(member)
          @drainer = nil if @drainer.equal?(member)
          if @reader.equal?(member)
            @reader = nil
            @reading = false
          end
          @over ? release : hand_over
        end

        def hand_over
          return if @served

          flush_now if @reader.nil?
          find_heir unless @over || (@reader && (@drainer || !@unsent))
        end

        def find_heir
          heir = @sleeping&.each_key&.first
          if heir then heir.wake
          elsif @unsent && @drainer.nil? && @reader.nil? then @connection.find_drainer
          end
        end

        # The last one who is at the socket closes it; that of a server its reactor has to let go first.
        def release
          return if @reader || @drainer || @released || @served

          @released = true
          @wire.close
        end

        # Not under the lock: a dispatcher may have one of its own.
        def tell_end
          @connection.ended(@over)
        ensure
          @wire.close if @served
        end

        def settle(future, state, outcome = nil)
          future.settle(state, outcome)
          future.members&.each do |member|
            @woken = true
            member.wake
          end
          @connection.due(future) if future.followed
        end

        # A fiber never waits for the lock: before Ruby 3.3 Mutex#unlock can be overtaken inside the scheduler's hook. Who holds
        # this one never waits for anything.
        def exclusively
          Thread.handle_interrupt(NEVER) do
            @lock.try_lock || lock
            begin
              yield
            ensure
              ended, @farewell = @farewell, false
              @lock.unlock
              tell_end if ended
            end
          end
        end

        def lock
          return @lock.lock if scheduler.nil? || @lock.owned? # by what a signal handler has interrupted: that raises

          Thread.pass until @lock.try_lock
        end

        def scheduler = Fiber.respond_to?(:current_scheduler) ? Fiber.current_scheduler : nil
      end
      private_constant :Member, :Roles
    end
  end
end
