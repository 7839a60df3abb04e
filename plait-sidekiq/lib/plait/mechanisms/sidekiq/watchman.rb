# frozen_string_literal: true

require "plait/mechanisms/mechanism"
require "plait/values/deadline"
require "plait/values/errors"

module Plait
  module Mechanisms
    class Sidekiq < Mechanism
      # Finds what nobody will answer for: Sidekiq itself tells nobody that one of its processes was killed, nor that none runs.
      class Watchman
        # Seconds: between two looks; for which a queue may be without a process that takes from it; for which an item that is
        # no longer in the queue may not be begun (middleware of Sidekiq's own may take its time); for which a process may be
        # missing (one that Redis has forgotten shows itself again within ten).
        Patience = Struct.new(:look, :unserved, :unbegun, :missing)
        PATIENCE = Patience.new(5, 30, 60, 15).freeze
        # Seconds between the clocks of two machines, and between a push and what it notes.
        SKEW = 1.0
        private_constant :SKEW

        # @param census [Census]
        # @param queue [String]
        # @param patience [Patience]
        def initialize(census, queue, patience)
          @census = census
          @queue = queue
          @patience = patience
          @looked = Deadline.now - patience.look # the first look is at once
          @missing = {}
          @taken = {}
        end

        # @param tasks [Enumerable<Task>]
        # @return [Array<Array(Task, WorkerDied)>] those that are lost, and why
        # @raise [UnsupportedError] when no process takes from the queue
        def lost(tasks)
          return [] if Deadline.now < @looked + @patience.look

          @looked = Deadline.now
          begun, waiting = tasks.partition(&:begun?)
          see_to_service if waiting.any?
          of_the_dead(begun) + vanished(waiting)
        end

        private

        def see_to_service
          return @unserved = nil if @census.served?(@queue)

          @unserved ||= @looked
          raise UnsupportedError, unserved if @looked >= @unserved + @patience.unserved

          ::Sidekiq.logger.warn(unserved) unless @warned
          @warned = true
        end

        def unserved
          "no process of Sidekiq takes jobs from the queue #{@queue.inspect}: begin one with " \
            "`bundle exec sidekiq -q #{@queue}`, which has loaded the class"
        end

        # A process that ends in peace answers, and then takes its name from the list: its answers are heard in between.
        def of_the_dead(begun)
          dead = begun.any? ? @census.dead(begun.map(&:worker).uniq) : []
          @missing = since(@missing, dead)
          lose(begun.select { |task| lasts?(@missing[task.worker], @patience.missing) }) do |task|
            "Sidekiq's process #{task.worker} gave no sign of life for a minute, before it answered for item #{task.index}"
          end
        end

        # Taken from the queue, and not begun: the process that took it was killed right then.
        def vanished(waiting)
          old = waiting.select { |task| task.sent_at + @patience.unbegun <= @looked }
          @taken = since(@taken, taken(old))
          lose(old.select { |task| lasts?(@taken[[task.index, task.copy]], @patience.look) }) do |task|
            "a process of Sidekiq took item #{task.index} from its queue and has not begun it"
          end
        end

        def taken(tasks)
          return [] if tasks.empty?

          wait = @census.longest_wait(@queue) + SKEW
          tasks.select { |task| @looked - task.sent_at > wait }.map { |task| [task.index, task.copy] }
        end

        # When each of them was seen first.
        def since(before, now) = now.to_h { |one| [one, before.fetch(one, @looked)] }

        def lasts?(since, seconds) = since && @looked > since && @looked >= since + seconds

        def lose(tasks) = tasks.map { |task| [task, WorkerDied.new(yield(task))] }
      end
    end
  end
end
