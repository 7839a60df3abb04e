# frozen_string_literal: true

require_relative "workers/life"
require_relative "workers/plan"
require_relative "workers/slot"
require_relative "workers/worker"

module Plait
  module Io
    # Keeps worker processes alive. A dead worker is replaced, after a pause that grows where workers die young. A worker that
    # has grown too large, and on request each worker, is replaced once its successor serves. Their reports are added up.
    class Workers
      # Seconds between two looks at them.
      LOOK = 0.05
      # Seconds that they have to report.
      PATIENCE = 5

      # @param stop_signal [Io::StopSignal] ends all
      # @param uplink [Link, nil] of this process, if it is itself a worker: its forks must not keep it open
      # @yieldparam life [Life] in each worker: its work, until its stop signal is set
      def initialize(count, stop_signal, plan = Plan.of, uplink: nil, &work)
        @stop_signal = stop_signal
        @plan = plan
        @uplink = uplink
        @work = work
        @slots = Array.new(count) { |index| Slot.new(index, plan) { hire(index) } }
        @waiting = []
      end

      # @return [Boolean] whether each slot has a worker that serves
      def ready? = @slots.all?(&:ready?)

      # Replaces all, one after another: each ends when the one in its place serves. From any thread or signal handler.
      def restart = @restart = true

      # Has all workers open their logs again. From any thread or signal handler.
      def reopen = @reopen = true

      # @return [Integer] how often a slot has passed to a new worker, without a gap
      def generation = @slots.sum(&:generation)

      # @return [Integer] how often a replacement failed
      def failures = @slots.sum(&:failures)

      # @return [String, nil] why the last worker died
      def obituary = @slots.filter_map(&:obituary).last

      # The reports of all workers, added up; counters include workers that have ended.
      # @return [Hash] `counters:`, `gauges:`, and `workers:`, in which each has an entry
      def report
        reports = all.map(&:report)
        { counters: Tally.sum(@slots.map(&:past) + reports.map { |report| report.fetch(:counters) }),
          gauges: Tally.sum(reports.map { |report| report.fetch(:gauges) }),
          workers: reports.flat_map { |report| report.fetch(:workers, []) } }
      end

      # Asks all workers, and waits for their answers.
      # @return [Hash] a {#report}, with how many workers serve (`processes:`) and how many have died (`replaced:`)
      def total
        moment = Deadline.now
        all.each { |worker| worker.tell(:report, moment) }
        limit = Deadline.after(PATIENCE)
        sleep(LOOK / 5) until all.all? { |worker| worker.reported?(moment) } || limit.expired?
        { **report, processes: pids.size, replaced: @slots.sum(&:deaths) }
      end

      # @return [Array<Integer>] the processes that serve
      def pids = all.select { |worker| worker.ready? && !worker.status }.map(&:pid)

      # Ends, while others take over: see {Shift#retire}.
      # @param grace [Numeric] seconds
      # @param drain [Numeric] seconds
      def retire(grace, drain)
        @retirement = [:retire, grace, drain]
        @stop_signal.stop(Deadline.after(grace + drain))
      end

      # Until the stop signal is set, and all workers have ended.
      # @yield as soon as all serve
      # @raise [WorkerDied, UsageError] when a worker died before any served: others would die too
      def run(&on_ready)
        @plan.before_fork.each(&:call)
        @slots.each(&:fill)
        @stop_signal.meanwhile(LOOK) { look(&on_ready) }
      ensure
        finish
      end

      private

      def all = @slots.flat_map(&:workers)

      def hire(index) = Worker.begin([*all.map(&:link), *@uplink]) { |link| Life.new(index, link, @plan).live(&@work) }

      def look
        look_after_slots
        answer
        heed_requests
        go_on_replacing
        yield if !@reported && (@reported = ready?) && block_given?
      end

      # Where no worker could ever begin, no other is tried: each would load the app and fail alike.
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

      # Requests of workers. A total waits for other workers, so another thread makes it.
      def answer
        all.each do |worker|
          while (what, value = worker.requests.shift)
            what == :stop ? @stop_signal.stop(Deadline.after(value)) : answer_with_total(worker, value)
          end
        end
      end

      def answer_with_total(worker, number) = Thread.new { worker.tell(:total, number, total) }.name = "plait total"

      def heed_requests
        if @reopen
          @reopen = false
          all.each { |worker| worker.tell(:reopen) }
        end
        return unless @restart

        @restart = false
        @waiting = @slots.dup
      end

      # One at a time needs one more process at most.
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

      # A worker that is not ready has no request, and is not waited for.
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

      # Repeated, when a second stop leaves less time.
      def tell_to_end(before)
        deadline = @stop_signal.deadline || (@now ||= Deadline.after(0))
        return deadline if deadline == before

        message = @retirement || [:drain, deadline.remaining]
        @retirement = nil
        all.each { |worker| worker.tell(*message) }
        deadline
      end

      def gone?
        all.each(&:hear)
        answer
        all.all?(&:ended?)
      end
    end
  end
end
