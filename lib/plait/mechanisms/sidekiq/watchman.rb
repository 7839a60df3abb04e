# frozen_string_literal: true

require_relative "../mechanism"
require_relative "../../values/deadline"
require_relative "../../values/errors"

module Plait
  module Mechanisms
    class Sidekiq < Mechanism
      # Finds what nobody will answer for: Sidekiq itself tells nobody that one of its processes was killed, nor that none runs.
      class Watchman
        # Seconds: between two looks; for which a queue may be without a process that takes from it; for which an item that is
        # no longer in the queue may not be begun (middleware of Sidekiq's own may take its time).
        Patience = Struct.new(:look, :unserved, :unbegun)
        PATIENCE = Patience.new(5, 30, 60).freeze

        # @param census [Census]
        # @param queue [String]
        # @param patience [Patience]
        def initialize(census, queue, patience)
          @census = census
          @queue = queue
          @patience = patience
          @looked = @served = Deadline.now
          @looked -= patience.look # the first look is at once
          @dead = []
        end

        # @param tasks [Enumerable<Task>]
        # @return [Array<Array(Task, Error)>] those that are lost, and why
        # @raise [UnsupportedError] when nobody takes from the queue
        def lost(tasks)
          return [] if Deadline.now < @looked + @patience.look

          @looked = Deadline.now
          begun, waiting = tasks.partition(&:begun?)
          see_to_service if waiting.any?
          of_the_dead(begun) + vanished(waiting)
        end

        private

        def see_to_service
          return @served = @looked if @census.served?(@queue)

          raise UnsupportedError, unserved if @looked >= @served + @patience.unserved

          ::Sidekiq.logger.warn(unserved) unless @warned
          @warned = true
        end

        def unserved
          "no process of Sidekiq takes jobs from the queue #{@queue.inspect}: begin one with " \
            "`bundle exec sidekiq -q #{@queue}`, which has loaded the class"
        end

        # A process that ends in peace answers, and then takes its name from the list. So who is missing is taken for dead at
        # the second look: what he has told was heard in between.
        def of_the_dead(begun)
          before = @dead
          @dead = begun.any? ? @census.dead(begun.map(&:worker).uniq) : []
          gone = @dead & before
          lose(begun.select { |task| gone.include?(task.worker) }) do |task|
            "Sidekiq's process #{task.worker} gave no sign of life for a minute, before it answered for item #{task.index}"
          end
        end

        # Taken from the queue, and never begun: who had taken it was killed right then.
        def vanished(waiting)
          old = waiting.select { |task| task.sent_at + @patience.unbegun <= @looked }
          @emptied = old.any? && !@census.waiting?(@queue) ? (@emptied || @looked) : nil
          return [] if @emptied.nil? || @looked < @emptied + @patience.look

          lose(old) { |task| "a process of Sidekiq took item #{task.index} from its queue and has not begun it" }
        end

        def lose(tasks) = tasks.map { |task| [task, WorkerDied.new(yield(task))] }
      end
    end
  end
end
