# frozen_string_literal: true

require_relative "../mechanism"
require_relative "../../values/deadline"
require_relative "../../values/errors"

module Plait
  module Mechanisms
    class Processes < Mechanism
      # Looks after the workers of a pool in between: who is dead, whose time is over, who keeps items that others could
      # run by now.
      class Supervisor
        # Seconds between two looks while items wait at workers: their answers may not be announced by a bell.
        POLL = 0.005
        # Seconds between two looks while attempts have a time limit.
        TICK = 0.1
        # Seconds between two looks at whether the workers live: a process forked by a body may hold their pipes open.
        LOOK = 0.5
        # Seconds without an answer after which a worker has to give back what it has not begun.
        SILENCE = 0.02
        # Seconds of work waiting at one worker that are worth a way back when another one is idle.
        WORTH = 0.002
        # Seconds beyond its time that an attempt has to end by itself before its worker is killed.
        GRACE = 1.0

        def initialize(pool, crew, pace, policy)
          @pool = pool
          @crew = crew
          @pace = pace
          @policy = policy
          @timed = policy.timed?
          @looked = @checked = Deadline.now
        end

        # @return [Float] seconds to wait for a bell at most
        def patience
          return POLL if @crew.workers.any?(&:queued?)

          @timed ? TICK : LOOK
        end

        # Called often; looks when it is time to.
        def look
          now = Deadline.now
          return if now - @looked < POLL

          @looked = now
          busy.each { |worker| look_at(worker, now) }
          check(now)
        end

        private

        def busy = @crew.workers.reject { |worker| worker.tasks.empty? }

        def look_at(worker, now)
          return @pool.bury(worker) unless @pool.listen(worker)

          overdue = @timed ? overdue(worker, now) : {}
          return expire(worker, overdue) if overdue.any?

          worker.recall if worker.queued? && (now - worker.since > SILENCE || wanted_elsewhere?(worker))
        end

        def wanted_elsewhere?(worker)
          @pace.seconds(worker.tasks.size) > WORTH && !@pool.backlog? && @crew.hungry?
        end

        def overdue(worker, now)
          worker.tasks.each_value.filter_map do |task|
            error = task.started_at && verdict(task.started_at, now - GRACE)
            [task, error] if error && now - GRACE > worker.choked_at
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
          @pool.bury(worker, errors)
        end

        def check(now)
          return if now - @checked < LOOK

          @checked = now
          busy.each { |worker| @pool.bury(worker) if worker.child.over? }
        end
      end
    end
  end
end
