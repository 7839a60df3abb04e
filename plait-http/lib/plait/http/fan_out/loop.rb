# frozen_string_literal: true

require "plait/mechanisms/base"
require "plait/mechanisms/foreign_loop"
require "plait/mechanisms/scheduler"

module Plait
  module HTTP
    class FanOut
      # The work of one fiber on the loop of a pool. Its exceptions go to the caller.
      module Job
        # In a fiber; never raises.
        def run
          @fiber = Fiber.current
          work unless @cancelled
        rescue Mechanisms::Interruption => e
          @pool.abort(e) unless @cancelled
        rescue Exception => e # rubocop:disable Lint/RescueException -- it belongs to the caller
          @pool.abort(e)
        ensure
          @fiber = nil
          leave
        end

        # A job that has not started yet does nothing.
        def cancel
          return if @cancelled # a second interruption would cut its `ensure` parts short

          @cancelled = true
          fiber = @fiber or return
          @pool.scheduler.interrupt(fiber, Mechanisms::Interruption.new) { @fiber }
        end
      end

      # The loop that the fibers of a pool run on: that of the calling fiber, or one that runs in the calling thread while the
      # caller waits.
      class Loop
        # Ends the current turn of the loop.
        module EndOfTurn
          def self.dispatch(_scheduler) = nil
        end

        # @raise [UnsupportedError]
        def self.for_caller = Fiber.current_scheduler ? Shared.new : new

        attr_reader :scheduler

        def initialize
          @scheduler = attach
        end

        # Lets the fibers run until the block is true; {#wake_caller} has it called again.
        def wait(&condition) = @scheduler.run_until(&condition)

        # As {wait}, with a time limit.
        def wait_briefly(seconds, &condition) = @scheduler.run_within(seconds, &condition)

        # Called by a fiber: the caller in {#wait} looks again.
        def wake_caller = @scheduler.ready(EndOfTurn)

        # Waits for fibers that the caller or its source has started by Fiber.schedule.
        # @return [Boolean] whether they ended in time
        def await_rest(deadline) = @own.nil? || @scheduler.run_out(deadline)

        # Ends the loop: cancels the fibers that are left.
        # @param grace [Numeric] seconds for their `ensure` parts
        def close(grace)
          return unless @own

          begin
            end_all(grace) unless @scheduler.idle?
          ensure
            @scheduler.abandon unless @scheduler.idle?
            Fiber.set_scheduler(nil)
          end
        end

        private

        def end_all(grace)
          @scheduler.cancel_scheduled
          wait_briefly(grace) { @scheduler.idle? }
        end

        def attach = Scheduler.turned_by_caller("Fiber.schedule { Plait::HTTP.fan_out(...) }") { |own| @own = own }

        # The loop of the calling fiber.
        class Shared < Loop
          def wait
            @scheduler.park { |place| @waiting = place } until yield
          ensure
            @waiting = nil
          end

          def wait_briefly(seconds, &condition)
            TimeLimit.enforce(seconds) { wait(&condition) }
          rescue TimeoutError
            nil
          end

          def wake_caller
            place = @waiting
            @waiting = nil
            @scheduler.wake(place) if place
          end

          def await_rest(_deadline) = true

          def close(_grace) = nil

          private

          def attach = ForeignLoop.adapt(Fiber.current_scheduler)
        end
      end
    end
  end
end
