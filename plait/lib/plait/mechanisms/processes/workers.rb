# frozen_string_literal: true

require_relative "worker"

module Plait
  module Mechanisms
    class Processes < Mechanism
      # The worker processes of a pool: forked when items find none idle, each in its slot, known by their pipes.
      class Workers
        # Seconds without a further fork after the system has refused one: at first, and at most.
        REFUSED = 0.5
        LONGEST = 8.0
        # Seconds to go on trying meanwhile: they get nothing.
        PATIENCE = 0.05
        NOTHING = [].freeze

        # @param slots [Array<Worker, nil>] of a pool that is gone
        # @return [Proc] ends them
        def self.remains(slots) = -> { ChildProcess.stop(slots.compact.map(&:child)) }

        # @return [Array<Worker, nil>] always the same object
        attr_reader :slots
        # @return [SharedItems, nil]
        attr_accessor :shared

        # @param widths [Array<Integer>] items at once, of the worker of each slot
        # @yieldparam pipes [Hash{Symbol => IO}] in the child
        def initialize(widths, &serve)
          @widths = widths
          @serve = serve
          @slots = Array.new(widths.size)
          @by_io = {}.compare_by_identity
          @vacant = widths.size
          @no_fork_before = 0.0
          @pause = REFUSED
        end

        def alive = @alive ||= @slots.compact

        # @return [Integer] slots
        def size = @slots.size

        def of(io) = @by_io[io]

        # @param each_answer [Boolean] whether every answer is waited for, or wake-ups only where the worker sends them
        # @return [Array(Array<IO>, Array<IO>)] to wait for: readable, writable
        def interests(each_answer)
          @ears ||= alive.flat_map(&:ears)
          readable = each_answer && @shared.nil? ? @ears : alive.flat_map(&:waited_for)
          [readable, @full ? alive.filter_map(&:items) : NOTHING]
        end

        # @return [void] when a pipe has taken less than it was given, or more than before
        def note_full = @full = alive.any?(&:items)

        # @return [Boolean] whether a worker has less to do than it can
        def hungry? = @slots.any? { |worker| worker ? worker.hungry? : may_fork? }

        # The workers that get items, least loaded first. Forks when more are wanted than are idle.
        # @param wanted [Integer] items
        # @param ahead [Integer] items that may wait at each
        # @raise [UnsupportedError] when not even one can be forked
        def open(wanted, ahead)
          hire([wanted - idle, 0].max) if @vacant.positive?
          ready = alive.select { |worker| worker.room(ahead).positive? }
          ready.size > 1 ? ready.sort_by { |worker| worker.tasks.size } : ready
        end

        # @return [Boolean] whether a further worker may get one of the shared items, and may be forked now
        def wanting? = @vacant.positive? && @shared.left? && alive.size < @shared.size && may_fork?

        # Forks a worker for shared items. Not all at once: an answer may come meanwhile, or the last item be taken.
        # @raise [UnsupportedError] when not even one can be forked
        def hire_one = (hire(1) if wanting?)

        # Goes on without a worker that got no threads. Several at once may have taken them from each other, so from now on
        # they begin one after another.
        # @raise [UnsupportedError] when not even one gets them
        def do_without(worker)
          raise worker.refusal if alive.empty? && worker.alone

          @one_by_one = true
          hold_back unless alive.empty?
        end

        # @return [void] after its end, or to end it
        def dismiss(worker)
          Readiness.uninterruptible do
            worker.child.kill
            yield
          ensure
            vacate(worker.slot)
            @by_io.delete_if { |_, owner| owner.equal?(worker) }
            worker.child.close
          end
        end

        # Ends all.
        # @yieldparam worker [Worker] dead, but its last answers may still be read
        def disband(terminate:, &read_rest)
          all = alive
          ChildProcess.stop(all.map(&:child), terminate: terminate) { all.each(&read_rest) }
        ensure
          @slots.each_index { |slot| vacate(slot) }
          @by_io.clear
        end

        private

        def idle = alive.count { |worker| worker.tasks.empty? }

        def may_fork? = Deadline.now >= @no_fork_before && !(@one_by_one && alive.any? { |worker| !worker.fruitful })

        def hold_back
          @no_fork_before = Deadline.now + @pause
          @pause = [@pause * 2, LONGEST].min
        end

        def hire(count)
          vacancies = @slots.each_index.select { |slot| @slots[slot].nil? }
          vacancies.first(count).each { |slot| start(slot) if may_fork? }
        rescue UnsupportedError => e
          raise if alive.empty? || Refusal::FILES.any? { |kind| e.cause.is_a?(kind) }

          hold_back
        end

        # Noted before it is forked, so that an Interrupt in between finds it.
        def start(slot)
          width = @widths[slot]
          patience = alive.empty? ? Forking::PATIENCE : PATIENCE
          worker = @slots[slot] = Worker.new(slot, width)
          @alive = nil
          worker.alone = @one_by_one
          worker.start(patience: patience) { |pipes| @serve.call(pipes, width, *([@shared, slot] if @shared)) }
          worker.pipes.each { |io| @by_io[io] = worker }
          @ears = @alive = nil
          @vacant -= 1
        ensure
          @slots[slot] = @alive = nil unless worker&.child&.pid
        end

        def vacate(slot)
          @vacant += 1 if @slots[slot]
          @slots[slot] = @alive = @ears = nil
        end
      end

      # Looks after the workers of a pool: which is dead, which has used up its time, which keeps items that others could
      # run by now.
      class Supervisor
        # Seconds between two looks while items wait at workers: their answers may not be announced by a wakeup.
        POLL = 0.005
        # Seconds between two looks while attempts have a time limit.
        TICK = 0.1
        # Seconds between two looks at whether the workers live: a process forked by a body may hold their pipes open.
        LOOK = 0.5
        # Seconds without an answer after which a worker has to give back items that it has not started.
        SILENCE = 0.02
        # Seconds of work waiting at one worker that are worth a way back when another one is idle.
        WORTH = 0.002
        # Seconds beyond its time that an attempt has to end by itself before its worker is killed.
        GRACE = 1.0

        def initialize(pool, workers, pace, policy)
          @pool = pool
          @workers = workers
          @pace = pace
          @policy = policy
          @timed = policy.timed?
          @looked = @checked = Deadline.now
        end

        # @return [Float] seconds to wait for a wakeup at most
        def patience
          return @timed ? TICK : LOOK if @pace.ahead.zero?

          @pace.few? ? SILENCE : POLL
        end

        # Called often; looks when it is time to.
        # @param now [Float] monotonic seconds
        def look(now)
          return if now - @looked < (@pace.few? ? SILENCE : POLL)

          @looked = now
          busy.each { |worker| look_at(worker, now) }
          check(now)
        end

        private

        def busy = @workers.shared ? @workers.alive : @workers.alive.reject { |worker| worker.tasks.empty? }

        def look_at(worker, now)
          return @pool.give_up(worker) unless worker.listening? || @pool.listen(worker)

          overdue = @timed ? overdue(worker, now) : {}
          return expire(worker, overdue) if overdue.any?

          worker.recall if worker.queued? && (now - worker.since > SILENCE || wanted_elsewhere?(worker))
        end

        def wanted_elsewhere?(worker) = @pace.seconds(worker.tasks.size) > WORTH && !@pool.backlog? && @workers.hungry?

        # Once a worker has to be killed, its other items whose own time is over need no grace either.
        def overdue(worker, now)
          stuck = now - GRACE > worker.choked_at ? judge(worker, now - GRACE) : {}
          stuck.any? ? stuck.merge(judge(worker, now)) : stuck
        end

        def judge(worker, moment)
          worker.tasks.each_value.filter_map do |task|
            error = task.started_at && verdict(task.started_at, moment)
            [task, error] if error
          end.to_h
        end

        def verdict(started_at, moment)
          timeout = @policy.timeout
          return overtime(TimeoutError, timeout) if timeout && moment > started_at + timeout

          deadline = @policy.deadline
          overtime(DeadlineExceeded, deadline.at - started_at) if deadline && moment > deadline.at
        end

        def overtime(kind, seconds)
          kind.new("#{Deadline.overrun(seconds)}; it did not let itself be interrupted, " \
                   "so its worker process was killed")
        end

        def expire(worker, errors)
          worker.crash = "item #{errors.keys.first.index} did not end in time there"
          @pool.give_up(worker, errors)
        end

        def check(now)
          return if now - @checked < LOOK

          @checked = now
          busy.each { |worker| @pool.give_up(worker) if worker.child.over? }
        end
      end
    end
  end
end
