# frozen_string_literal: true

require_relative "version"
require "plait/values/deadline"

module Plait
  module RPC
    module Compat
      # Where callbacks, timers and tasks are run: in the thread that turns it, by {#run}, {#run_once}, or by waiting for an
      # answer of one of its sessions. Servers that belong to it serve from the first turn on, on a thread of theirs.
      #
      # It watches no descriptors: the Loop of msgpack-rpc is one of Cool.io, this one is not.
      class Loop
        # Seconds that a turn takes at most.
        TURN = 1.0

        Timer = Struct.new(:at, :interval, :task)
        private_constant :Timer

        def initialize
          @lock = Mutex.new
          @changed = ConditionVariable.new
          @tasks = []
          @timers = []
          @futures = {}.compare_by_identity
          @servers = []
        end

        # Turns until {#stop}; then its servers end.
        # @return [nil]
        def run
          run_once until @stopped
        ensure
          @stopped = false
          servers.each(&:rest)
        end

        # Waits until there is something to do, a second at most, and does it.
        # @param seconds [Numeric, nil] for which to wait
        # @return [nil]
        def run_once(seconds = nil)
          start_servers
          @lock.synchronize { wait(Deadline.now + [seconds || TURN, TURN].min) if !@stopped && due.nil? }
          call_due
        end

        # Does what there is to do now.
        # @return [nil]
        def call_due
          while (task = @lock.synchronize { due&.call })
            quietly(&task)
          end
        end

        # Ends {#run}: from any thread.
        # @return [nil]
        def stop
          @stopped = true
          wake
        end

        # @yield once, when the loop is turned next
        # @return [void]
        def submit(&task)
          @lock.synchronize { @tasks << task }
          wake
        end

        # @param interval [Numeric] seconds
        # @param repeating [Boolean]
        # @yield when the time has come
        # @return [Object]
        def start_timer(interval, repeating, &task)
          timer = Timer.new(Deadline.now + interval, (interval if repeating), task)
          @lock.synchronize { @timers << timer }
          wake
          timer
        end

        # Something may be due.
        # @return [nil]
        # @api private
        def wake
          @lock.synchronize { @changed.broadcast }
          nil
        end

        # @param future [Future] with something to be called
        # @return [void]
        # @api private
        def watch(future) = @lock.synchronize { @futures[future] = true }

        # @param server [#begin, #rest]
        # @return [void]
        # @api private
        def attach(server) = @lock.synchronize { @servers << server unless @servers.include?(server) }

        # @return [void]
        # @api private
        def detach(server) = @lock.synchronize { @servers.delete(server) }

        # @return [void]
        # @api private
        def start_servers = servers.each(&:begin)

        private

        def servers = @lock.synchronize { @servers.dup }

        def wait(limit)
          while due.nil? && !@stopped
            seconds = [limit, *@timers.map(&:at)].min - Deadline.now
            return unless seconds.positive?

            @changed.wait(@lock, seconds)
          end
        end

        # Under the lock.
        # @return [Proc, nil] takes it out, and returns what is to be done
        def due
          return -> { @tasks.shift } if @tasks.any?

          timer = @timers.find { |one| one.at <= Deadline.now }
          return -> { take_timer(timer) } if timer

          future = @futures.each_key.find(&:set?)
          -> { @futures.delete(future) && future.method(:call_back) } if future
        end

        def take_timer(timer)
          timer.interval ? timer.at += timer.interval : @timers.delete(timer)
          timer.task
        end

        # As in msgpack-rpc, what a callback raises is its own business.
        def quietly
          yield
        rescue StandardError
          nil
        end
      end
    end
  end
end
