# frozen_string_literal: true

require_relative "explanation"
require_relative "worker"
require_relative "../mechanism"
require_relative "../../values/deadline"
require_relative "../../values/errors"

module Plait
  module Mechanisms
    class Ractors < Mechanism
      # The ractors of a pool: up to `limit`, each started when an item finds none idle.
      class Staff
        # Seconds that Ruby has to remove a ractor whose block is over.
        REMOVAL = 1.0

        # @return [Integer] ractors at most; fewer than asked for where the system gives no more
        attr_reader :limit

        def initialize(body, policy, port, limit)
          @body = body
          @policy = policy
          @port = port
          @limit = limit
          @hired = 0
          @live = {}
          @ended = []
        end

        # @return [Worker, nil]
        def [](number) = @live[number]

        def size = @live.size

        def empty? = @live.empty?

        # @param ahead [Integer] items that may wait at each
        # @return [Worker, nil] who gets the next item
        # @raise [UnsupportedError] when there is none, and the system gives none
        def find(ahead)
          free = open.min_by { |worker| worker.jobs.size }
          return free if free&.idle?

          (hire if size < @limit) || (free if free && free.jobs.size <= ahead)
        end

        # Lets those that have nothing to do have what waits at others.
        # @yieldparam idle [Worker]
        # @yieldparam job [Job]
        def balance
          return if @live.each_value.none? { |worker| worker.jobs.size > 1 }

          open.select(&:idle?).each do |idle|
            busiest = open.max_by { |worker| worker.jobs.size }
            job = busiest.take_back if busiest.jobs.size > 1
            yield idle, job if job
          end
        end

        # @return [void] after its end
        def dismiss(worker)
          @live.delete(worker.number)
          worker.stop
          @ended << worker
        end

        # Asks all to end; does not wait.
        def stop = @live.each_value(&:stop)

        # @return [Array<Worker>] those that have not ended; nobody waits for them any more
        def abandon = @live.values.tap { @live.clear }

        # Goes on with the ractors there are.
        # @param error [Exception] why there are no more
        # @raise [UnsupportedError] when there are none
        def do_without(error)
          raise Explanation.of_refusal(error) if @live.empty?

          @limit = @live.size
          nil
        end

        def await_removal
          limit = Deadline.after(REMOVAL)
          sleep(0.0002) until @ended.all?(&:over?) || limit.expired?
        end

        private

        def open = @live.each_value.reject(&:closed?)

        # Known to the pool before it starts, so that an interrupt in between leaves nothing behind.
        def hire
          worker = @live[@hired] = Worker.new(@hired)
          @hired += 1
          worker.tap { worker.start(@body, @policy, @port) }
        rescue TypeError, ::Ractor::Error => e
          discard(worker)
          raise Explanation.of_policy(e)
        rescue ThreadError, SystemCallError => e
          discard(worker)
          do_without(e)
        end

        def discard(worker)
          @live.delete(worker&.number)
          worker&.stop
        end
      end
    end
  end
end
