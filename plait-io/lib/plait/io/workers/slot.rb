# frozen_string_literal: true

require_relative "plan"
require_relative "worker"

module Plait
  module Io
    class Workers
      # Sums of what processes report: Hashes of numbers, in which others may stand.
      module Tally
        module_function

        # @return [Hash] the sum for each key
        def sum(hashes) = hashes.reduce({}) { |total, hash| total.merge(hash) { |_, one, other| add(one, other) } }

        def add(one, other) = one.is_a?(Hash) ? sum([one, other]) : one + other
      end

      # The slot of one worker: the worker that has it, its successor, and retired workers that are about to end.
      class Slot
        # Seconds: a worker that dies younger makes the next pause twice as long.
        YOUNG = 10
        LONGEST_PAUSE = 30
        # Seconds without a report from a serving worker, after which the operator reads of it.
        SILENCE = 10

        attr_reader :index
        # @return [Hash] counters of workers that have ended
        attr_reader :past

        # @yieldreturn [Worker] a new one for it
        def initialize(index, plan, &hire)
          @index = index
          @plan = plan
          @hire = hire
          @retired = []
          @past = {}
          @news = []
          @died_young = @generation = @failures = @deaths = 0
          @due = Deadline.now
        end

        # @return [Array<Worker>] all of them
        def workers = [@worker, @successor, *@retired].compact

        # @return [Worker, nil] the worker that serves
        attr_reader :worker

        def ready? = @worker&.ready? || false

        # @return [Boolean] whether a successor is about to take the slot over
        def changing? = !@successor.nil?

        # @return [Boolean] whether a worker has died here before it was ready
        def stillborn? = @stillborn || false

        # @return [String, nil] why the last worker died
        attr_reader :obituary
        # @return [Boolean] whether that was because of what the caller has asked for
        attr_reader :misused
        # @return [Integer] how often the slot has passed to a new worker, without a gap
        attr_reader :generation
        # @return [Integer] how often a successor died instead
        attr_reader :failures
        # @return [Integer] workers that died here, and were not asked to end
        attr_reader :deaths

        def tell_news
          @plan.notice.call(@news.shift) until @news.empty?
        end

        # Starts a worker that takes the slot over as soon as it is ready.
        def replace = @successor ||= @worker && begin_one

        # Reads the reports of all workers, and removes the workers that have ended.
        def look
          workers.each(&:hear)
          workers.select(&:ended?).each { |worker| bury(worker) }
          look_after_silent if ready?
          look_after_standing if ready?
          end_overdue
          hand_over if @successor&.ready?
        end

        # Starts a worker where the slot has none.
        def fill = (@worker ||= begin_one if Deadline.now >= @due)

        private

        # The system may have a process later.
        def begin_one
          @hire.call
        rescue SystemCallError, ThreadError => e
          say("can't be started: #{e.message}; trying again in #{pause} s")
          nil
        end

        def bury(worker)
          worker.close
          @past = Tally.sum([@past, worker.report.fetch(:counters)])
          return tell_cut(worker) if @retired.delete(worker)

          @stillborn = true unless worker.ready?
          @obituary = worker.obituary
          @misused = worker.misused
          worker == @successor ? lose_successor(worker) : lose(worker)
        end

        def lose(worker)
          @worker = nil
          @deaths += 1
          @plan.on_death.each { |hook| hook.call(@index) }
          @died_young = 0 if worker.age >= YOUNG
          seconds = pause
          say("(pid #{worker.pid}) has died after #{worker.age.round} s: #{worker.obituary}; " \
              "another one takes its place#{" in #{seconds} s" if seconds.positive?}")
        end

        def lose_successor(worker)
          @successor = nil
          @failures += 1
          say("is not replaced: the process for that (pid #{worker.pid}) has died: #{worker.obituary}")
        end

        def tell_cut(worker)
          cut = worker.report.fetch(:counters).fetch(:cut, 0)
          say("(pid #{worker.pid}) was replaced, and #{Plan.cut(cut)}") if cut.positive?
        end

        # @return [Integer] seconds until the next worker begins; 0 at first
        def pause
          seconds = @died_young.zero? ? 0 : [2**(@died_young - 1), LONGEST_PAUSE].min
          @due = Deadline.now + seconds
          @died_young += 1
          seconds
        end

        def hand_over
          @retired << @worker if @worker
          @worker&.tell(:retire, @plan.grace, @plan.drain)
          @worker&.end_within(@plan.grace + @plan.drain + @plan.slack)
          @worker, @successor = @successor, nil
          @generation += 1
        end

        def end_overdue
          [@worker, @successor].compact.each { |worker| worker.kill(slow) if !worker.ready? && worker.age > @plan.patience }
          @retired.select(&:overdue?).each(&:kill)
        end

        # Neither the parent nor the worker can say what holds it up.
        def look_after_silent
          silence = @worker.silence
          @worker.kill("it had said nothing for #{silence.round} s (worker_timeout)") if silence > @plan.silence
          return @silent = nil if silence < SILENCE
          return if @silent == @worker

          @silent = @worker
          say("(pid #{@worker.pid}) has said nothing for #{SILENCE} s: it is stopped, or something in it keeps Ruby's lock. " \
              "kill -KILL #{@worker.pid} has it replaced at once, worker_timeout after #{@plan.silence} s")
        end

        # It takes nothing new; running jobs of its thread pool have the grace to end.
        def look_after_standing
          standstill = @worker.standstill or return
          return if standstill.fetch(:seconds) < @plan.silence

          say("(pid #{@worker.pid}) is given up, and killed in #{@plan.grace} s (worker_timeout): #{standstill.fetch(:text)}")
          @worker.tell(:retire, @plan.grace, 0)
          @worker.end_within(@plan.grace)
          @retired << @worker
          @worker = nil
        end

        def slow
          "the app was not ready after #{@plan.patience} s (worker_boot_timeout): loading it, or a hook on boot, takes longer " \
            "or never ends"
        end

        def say(text) = @news << "#{@plan.title(@index)} #{text}"
      end
    end
  end
end
