# frozen_string_literal: true

require_relative "../mechanism"
require_relative "../../values/deadline"
require_relative "../../values/errors"
require_relative "child_process"
require_relative "forking"
require_relative "readiness"
require_relative "refusal"
require_relative "worker"

module Plait
  module Mechanisms
    class Processes < Mechanism
      # The workers of a pool: forked when items find none idle, each in its slot, and told apart by their pipes.
      class Crew
        # Seconds to do with the workers there are, after the system has refused another one: at first, and at most.
        REFUSED = 0.5
        LONGEST = 8.0
        # Seconds to go on trying meanwhile: they get nothing.
        PATIENCE = 0.05

        # @param slots [Array<Worker, nil>] of a crew that is gone
        # @return [Proc] ends them
        def self.remains(slots) = -> { ChildProcess.stop(slots.compact.map(&:child)) }

        # @return [Array<Worker, nil>] always the same object
        attr_reader :slots

        # @param widths [Array<Integer>] items at once, of the worker of each slot
        # @yieldparam pipes [Hash{Symbol => IO}] in the child
        # @yieldparam width [Integer]
        def initialize(widths, &serve)
          @widths = widths
          @serve = serve
          @slots = Array.new(widths.size)
          @by_io = {}.compare_by_identity
          @no_fork_before = 0.0
          @pause = REFUSED
        end

        # @return [Array<Worker>]
        def workers = @slots.compact

        # @return [Integer] slots
        def size = @slots.size

        # @return [Worker]
        def of(io) = @by_io[io]

        # @return [Array(Array<IO>, Array<IO>)] what to wait for: to read, to write
        def interests
          all = workers
          [all.map(&:bell).concat(all.filter_map(&:results)), all.filter_map(&:items)]
        end

        # @return [Boolean] whether a worker has less to do than it can
        def hungry? = @slots.any? { |worker| worker ? worker.hungry? : may_fork? }

        # Whom to give items to, least loaded first. Forks when more are wanted than are idle.
        # @param wanted [Integer] items
        # @param ahead [Integer] items that may wait at each
        # @return [Array<Worker>]
        # @raise [UnsupportedError] when not even one can be forked
        def open(wanted, ahead)
          vacancies = @slots.each_index.select { |slot| @slots[slot].nil? }
          hire(vacancies.first([wanted - idle, 0].max)) unless vacancies.empty?
          workers.select { |worker| worker.room(ahead).positive? }.sort_by { |worker| worker.tasks.size }
        end

        # Goes on without a worker that got no threads. Several at once may have taken them from each other, so from now on
        # they begin one after another.
        # @raise [UnsupportedError] when not even one gets them
        def do_without(worker)
          raise worker.refusal if workers.empty? && worker.alone

          @one_by_one = true
          hold_back unless workers.empty?
        end

        # @return [void] after its end, or to end it
        def dismiss(worker)
          Readiness.undisturbed do
            worker.child.kill
            yield
          ensure
            @slots[worker.slot] = nil
            @by_io.delete_if { |_, owner| owner.equal?(worker) }
            worker.child.close
          end
        end

        # Ends all.
        # @yieldparam worker [Worker] dead, but its last answers may still be read
        def disband(terminate:, &last_words)
          all = workers
          ChildProcess.stop(all.map(&:child), terminate: terminate) { all.each(&last_words) }
        ensure
          @slots.fill(nil)
          @by_io.clear
        end

        private

        def idle = workers.count { |worker| worker.tasks.empty? }

        def may_fork? = Deadline.now >= @no_fork_before && !(@one_by_one && workers.any? { |worker| !worker.fruitful })

        def hold_back
          @no_fork_before = Deadline.now + @pause
          @pause = [@pause * 2, LONGEST].min
        end

        def hire(slots)
          slots.each { |slot| start(slot) if may_fork? }
        rescue UnsupportedError => e
          raise if workers.empty? || Refusal::FILES.any? { |kind| e.cause.is_a?(kind) }

          hold_back
        end

        # Noted before it is forked, so that an Interrupt in between finds it.
        def start(slot)
          width = @widths[slot]
          patience = workers.empty? ? Forking::PATIENCE : PATIENCE
          worker = @slots[slot] = Worker.new(slot, width)
          worker.alone = @one_by_one
          worker.start(patience: patience) { |pipes| @serve.call(pipes, width) }
          worker.pipes.each { |io| @by_io[io] = worker }
        ensure
          @slots[slot] = nil unless worker&.child&.pid
        end
      end
    end
  end
end
