# frozen_string_literal: true

require_relative "../interruption"
require_relative "../mechanism"
require_relative "../../values/deadline"
require_relative "file_buffers"

module Plait
  module Mechanisms
    class Processes < Mechanism
      # Process.fork that comes back when the system gives no process (`ulimit -u`, the pids.max of a container). Ruby's own
      # sleeps for a second inside of Process._fork and tries again, for ever (handle_fork_error in process.c).
      module Forking
        # Raised in the forking thread.
        class Refused < Interruption; end
        private_constant :Refused

        # Seconds between two looks at the forking thread.
        LOOK = 0.02
        # Seconds that Ruby has for its next try, where nothing goes on without the process.
        PATIENCE = 1.2
        # Where Ruby waits for its next try.
        ASLEEP_IN = "_fork"

        class << self
          # @param patience [Numeric] seconds to go on trying
          # @param copied [Array<IO>] what {flush} has returned
          # @yield in the child, as in Process.fork
          # @return [Integer] its pid
          # @raise [SystemCallError] Errno::EAGAIN when the system gives no process
          # @raise [ThreadError] when it gives not even a thread, which counts as much
          def call(patience: PATIENCE, copied: flush, &child)
            watcher = watch(Thread.current, patience)
            Thread.handle_interrupt(Refused => :never) do
              # Ruby's sleep is the one place where it waits: a fork that has succeeded just now is not lost.
              Thread.handle_interrupt(Refused => :on_blocking) { branch(copied, &child) }
            ensure
              end_watch(watcher)
            end
          rescue Refused, SystemCallError => e # Ruby makes an error of its own of what ends its sleep
            raise unless [e, e.cause].any?(Refused)

            @refused_at = Deadline.now
            raise Errno::EAGAIN, "fork(2)", cause: nil
          end

          # @param moment [Float] monotonic seconds
          # @return [Boolean] whether the system has refused a process after it
          def refused_since?(moment) = (@refused_at || 0.0) > moment

          # As Ruby does before it forks: there, waiting for their readers would look like a refusal.
          # @return [Array<IO>] see {FileBuffers.flush}
          def flush
            [$stdout, $stderr].each(&:flush)
            FileBuffers.flush
          end

          private

          def branch(copied)
            Process.fork do
              FileBuffers.drop(copied)
              yield
            end
          end

          # @return [Thread]
          def watch(forker, patience)
            Thread.new do
              sleep(LOOK) until asleep?(forker)
              sleep(patience)
              sleep(LOOK) until asleep?(forker)
              forker.raise(Refused)
            end
          end

          def asleep?(forker) = forker.stop? && forker.backtrace_locations(0, 1)&.first&.base_label == ASLEEP_IN

          # What it has raised too late is dropped.
          def end_watch(watcher)
            watcher.kill.join
            Thread.handle_interrupt(Refused => :immediate) { Thread.pass } if Thread.pending_interrupt?
          rescue Refused
            nil
          end
        end
      end
    end
  end
end
