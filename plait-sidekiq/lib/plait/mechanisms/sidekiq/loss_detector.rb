# frozen_string_literal: true

require "json"
require "sidekiq/api"
require "plait/mechanisms/mechanism"
require "plait/values/deadline"
require "plait/values/errors"

module Plait
  module Mechanisms
    class Sidekiq < Mechanism
      # An item on its way. `made` counts the attempts whose process or thread died, `attempts` all started ones, `copy` the
      # copies sent before this one. `worker` is the process of Sidekiq that runs it; `sent_at` is in monotonic seconds.
      class Task
        attr_reader :index, :item, :made, :attempts, :worker, :sent_at, :copy

        def initialize(index, item)
          @index = index
          @item = item
          @made = @attempts = @copy = 0
          sent
        end

        def sent = @sent_at = Deadline.now

        # Former copies no longer count.
        def copy_again = @copy += 1

        def started? = !@worker.nil?

        # @param worker [String]
        # @param number [Integer] of the attempt, from 1
        def attempt(worker, number)
          @worker = worker
          @attempts = number
        end

        # It waits in its queue again, unless another process runs it meanwhile.
        def give_back(worker)
          return unless @worker == worker

          @worker = nil
          sent
        end

        # Prepares another attempt.
        def reset
          @made = @attempts = [@attempts, @made + 1].max
          @worker = nil
        end
      end

      # The processes of Sidekiq in Redis. A process without a sign of life for a minute is dead.
      class Processes
        # A time above this counts milliseconds, as Sidekiq does from version 8 on.
        MILLISECONDS = 1e11
        private_constant :MILLISECONDS

        # @param redis [#with] a pool of connections
        def initialize(redis)
          @redis = redis
        end

        # @return [Array<String>] the identities of dead processes
        def dead(identities)
          identities.reject { |identity| @redis.with { |redis| redis.call("EXISTS", identity) }.positive? }
        end

        # @return [Boolean] whether any process takes jobs from the queue
        def served?(queue) = processes.any? { |process| takes_from?(process, queue) && !process.stopping? }

        # Sidekiq takes the oldest job first: an older one than this has been taken.
        # @return [Float] seconds for which the oldest job waits in the queue, by the clock of its sender; 0: the queue is empty
        def longest_wait(queue)
          oldest = @redis.with { |redis| redis.call("LINDEX", "queue:#{queue}", -1) } or return 0.0
          at = JSON.parse(oldest)["enqueued_at"].to_f
          Time.now.to_f - (at > MILLISECONDS ? at / 1000 : at)
        end

        private

        # From 8.1 on Sidekiq keeps the queues of a process elsewhere; `queues` reads both.
        def takes_from?(process, queue) = Array(process.queues).include?(queue)

        # Without the clean-up, which is the program's decision.
        def processes = ::Sidekiq::ProcessSet.new(false)
      end

      # Finds items that will get no answer: Sidekiq itself reports neither a killed process nor a queue without a process.
      class LossDetector
        # Seconds: between two checks; of a queue without a process; from the queue to the start of an item (middleware may take
        # long); without a sign of a process (one that Redis has lost writes its entry again within ten).
        Patience = Struct.new(:look, :unserved, :unstarted, :missing)
        PATIENCE = Patience.new(5, 30, 60, 15).freeze
        # Seconds between the clocks of two machines, and between a push and its time in the job.
        SKEW = 1.0
        private_constant :SKEW

        # @param queue [String]
        def initialize(processes, queue, patience)
          @processes = processes
          @queue = queue
          @patience = patience
          @looked = Deadline.now - patience.look # the first check is at once
          @missing = {}
          @taken = {}
        end

        # @param tasks [Enumerable<Task>]
        # @return [Array<Array(Task, WorkerDied)>] lost items, with their errors
        # @raise [UnsupportedError] no process takes from the queue
        def lost(tasks)
          return [] if Deadline.now < @looked + @patience.look

          @looked = Deadline.now
          started, waiting = tasks.partition(&:started?)
          check_service if waiting.any?
          of_dead_processes(started) + vanished(waiting)
        end

        private

        def check_service
          return @unserved = nil if @processes.served?(@queue)

          @unserved ||= @looked
          raise UnsupportedError, unserved if @looked >= @unserved + @patience.unserved

          ::Sidekiq.logger.warn(unserved) unless @warned
          @warned = true
        end

        def unserved
          "no process of Sidekiq takes jobs from the queue #{@queue.inspect}: start one with " \
            "`bundle exec sidekiq -q #{@queue}`, which has loaded the class"
        end

        # A process that stops in order answers, and then leaves the list: its answers arrive between two checks.
        def of_dead_processes(started)
          dead = started.any? ? @processes.dead(started.map(&:worker).uniq) : []
          @missing = since(@missing, dead)
          lose(started.select { |task| lasts?(@missing[task.worker], @patience.missing) }) do |task|
            "Sidekiq's process #{task.worker} gave no sign of life for a minute, before it answered for item #{task.index}"
          end
        end

        # Taken from the queue, and not started: the process that took it was killed just then.
        def vanished(waiting)
          old = waiting.select { |task| task.sent_at + @patience.unstarted <= @looked }
          @taken = since(@taken, taken(old))
          lose(old.select { |task| lasts?(@taken[[task.index, task.copy]], @patience.look) }) do |task|
            "a process of Sidekiq took item #{task.index} from its queue and has not started it"
          end
        end

        def taken(tasks)
          return [] if tasks.empty?

          wait = @processes.longest_wait(@queue) + SKEW
          tasks.select { |task| @looked - task.sent_at > wait }.map { |task| [task.index, task.copy] }
        end

        # The time at which each one was found first.
        def since(before, now) = now.to_h { |one| [one, before.fetch(one, @looked)] }

        def lasts?(since, seconds) = since && @looked > since && @looked >= since + seconds

        def lose(tasks) = tasks.map { |task| [task, WorkerDied.new(yield(task))] }
      end
      private_constant :Task, :Processes, :LossDetector
    end
  end
end
