# frozen_string_literal: true

require_relative "workers/life"
require_relative "workers/plan"
require_relative "workers/slot"
require_relative "workers/worker"
require "plait/values/deadline"
require "plait/values/errors"

module Plait
  class Server
    # Processes that do the same work, and the one that watches over them: those that die are replaced, with a pause that
    # grows where none lives long; those that have grown too large are replaced by others that serve already, and so are all
    # when that is asked for. What they tell of themselves is added up.
    class Workers
      # Seconds between two looks at them.
      LOOK = 0.05

      # @param count [Integer]
      # @param bell [Io::Bell] rings when all shall end
      # @param plan [Plan]
      # @param uplink [Link, nil] of this process, if it is itself a worker: its forks must not keep it open
      # @yieldparam life [Life] in each worker: its work, until its bell rings
      def initialize(count, bell, plan = Plan.of, uplink: nil, &work)
        @bell = bell
        @plan = plan
        @uplink = uplink
        @work = work
        @slots = Array.new(count) { |index| Slot.new(index, plan) { hire(index) } }
        @waiting = []
      end

      # @return [Boolean] whether each slot has a worker that serves
      def ready? = @slots.all?(&:ready?)

      # Replaces all, one after another: each ends when the one in its place serves. From any thread or signal handler.
      # @return [void]
      def restart = @restart = true

      # Has all workers open their logs again. From any thread or signal handler.
      # @return [void]
      def reopen = @reopen = true

      # @return [Integer] how often a slot has passed to a new worker, without a gap
      def generation = @slots.sum(&:generation)

      # @return [Integer] how often that was tried in vain
      def failures = @slots.sum(&:failures)

      # @return [String, nil] why one has ended that was not told to
      def obituary = @slots.filter_map(&:obituary).last

      # What they have told of themselves, added up; of what is counted, also that of those that have ended.
      # @return [Hash] `counters:`, `gauges:`, and `workers:`, in which each has an entry
      def report
        reports = all.map(&:report)
        { counters: Tally.sum(@slots.map(&:past) + reports.map { |report| report.fetch(:counters) }),
          gauges: Tally.sum(reports.map { |report| report.fetch(:gauges) }),
          workers: reports.flat_map { |report| report.fetch(:workers, []) } }
      end

      # Ends, while others take over: see {Shift#retire}.
      # @param grace [Numeric] seconds
      # @param drain [Numeric] seconds
      # @return [void]
      def retire(grace, drain)
        @retirement = [:retire, grace, drain]
        @bell.ring(Deadline.after(grace + drain))
      end

      # Until the bell rings, and all workers have ended.
      # @yield as soon as all serve
      # @return [void]
      # @raise [WorkerDied, UsageError] when one has died before any has served: further ones would too
      def run(&on_ready)
        @plan.before_fork.each(&:call)
        @slots.each(&:fill)
        @bell.meanwhile(LOOK) { look(&on_ready) }
      ensure
        finish
      end

      private

      def all = @slots.flat_map(&:workers)

      def hire(index)
        Worker.begin([*all.map(&:link), *@uplink]) { |link| Life.new(index, link, @plan).live(&@work) }
      end

      def look
        look_after_slots
        heed_requests
        go_on_replacing
        yield if !@told && (@told = ready?) && block_given?
      end

      # Where none could ever begin no further one is tried: each would load the app, and say what was said.
      def look_after_slots
        @slots.each(&:look)
        @served ||= @slots.any?(&:ready?)
        give_up unless @served
        @slots.each(&:fill)
        @slots.each(&:tell_news)
      end

      def give_up
        slot = @slots.find(&:stillborn?) or return
        raise slot.misused ? UsageError : WorkerDied, slot.obituary
      end

      def heed_requests
        if @reopen
          @reopen = false
          all.each { |worker| worker.tell(:reopen) }
        end
        return unless @restart

        @restart = false
        @waiting = @slots.dup
      end

      # One at a time, so that only one more process is needed.
      def go_on_replacing
        return if @slots.any?(&:changing?)

        (@waiting.shift || too_large)&.replace
      end

      def too_large
        return unless @plan.memory

        slot = @slots.find { |one| one.ready? && one.worker.memory > @plan.memory } or return
        @plan.notice.call("#{@plan.title(slot.index)} (pid #{slot.worker.pid}) is replaced: it has grown to " \
                          "#{slot.worker.memory >> 20} MB, and #{@plan.memory >> 20} are allowed")
        slot
      end

      def finish
        @plan.on_end.each(&:call)
        let_them_end
        all.each(&:kill)
        sleep(LOOK / 5) until gone?
        all.each(&:close)
      end

      # Those that are not ready have begun nothing, and are not waited for.
      def let_them_end
        soon = Deadline.after(@plan.slack)
        deadline = nil
        until gone?
          deadline = tell_to_end(deadline)
          return if Deadline.now > deadline.at + @plan.slack

          all.reject(&:ready?).each(&:kill) if soon.expired?
          sleep(LOOK / 5)
        end
      end

      # Again, when there is less time than there was.
      def tell_to_end(before)
        deadline = @bell.deadline || (@now ||= Deadline.after(0))
        return deadline if deadline == before

        message = @retirement || [:drain, deadline.remaining]
        @retirement = nil
        all.each { |worker| worker.tell(*message) }
        deadline
      end

      def gone?
        all.each(&:hear)
        all.all?(&:ended?)
      end
    end
  end
end
