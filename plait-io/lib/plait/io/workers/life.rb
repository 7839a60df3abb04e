# frozen_string_literal: true

require_relative "../orphaned_fork"
require_relative "../stop_signal"
require_relative "worker"
require "plait/mechanisms/processes/forking"

module Plait
  module Io
    class Workers
      # A worker, as it sees itself, from its fork to its end. Its parent, a SIGTERM, or the parent's death end it.
      class Life
        # Seconds between two reports.
        PULSE = 1
        # Seconds between two looks for an answer of the parent.
        LOOK = 0.005
        # These signals are the parent's. Ctrl-C reaches all processes; the parent ends its workers.
        IGNORED = %w[INT USR1 USR2 HUP].freeze

        # @return [Integer] of its slot, from 0 on
        attr_reader :index
        # @return [Io::StopSignal] ends it
        attr_reader :stop_signal
        attr_reader :link

        # @param link [Link] to the parent
        def initialize(index, link, plan)
          @index = index
          @link = link
          @plan = plan
          @stop_signal = Io::StopSignal.new
          @totals = {}
        end

        # Does not return: nothing of the parent's is run at the end.
        # @yield its work
        def live
          status = 1
          @process = Process.pid
          @generation = Native.fork_generation
          heed_signals
          follow
          @plan.on_boot.each { |hook| hook.call(@index) }
          yield self
          @plan.on_shutdown.each { |hook| hook.call(@index) } if ours?
          status = 0
        rescue Exception => e # rubocop:disable Lint/RescueException -- any exception ends a worker, and is reported
          ours? ? tell_of(e) : warn("plait: #{@plan.title(@index)} (pid #{@process}): #{OrphanedFork::MESSAGE}")
        ensure
          report if ours?
          FileBuffers.write_out # exit! would not
          Process.exit!(status)
        end

        # It serves.
        # @param work [#report, #retire, #reopen] `report` tells what there is to tell; `retire(grace, drain)` has it take
        #   nothing new, go on with what there is for these seconds, and then end; `reopen` opens its logs again
        def ready(work)
          @work = work
          report
          @link.send(:ready)
        end

        # @param seconds [Numeric] to wait for the parent's answer
        # @return [Hash] see {Workers#total}
        # @raise [ReadTimeout]
        def total(seconds = 5)
          limit = Deadline.after(seconds)
          number = Object.new.object_id
          @totals[number] = nil
          @link.send(:total, number)
          sleep(LOOK) until @totals[number] || limit.expired?
          @totals.delete(number) or raise ReadTimeout, "the parent of this worker has not answered within #{seconds} s"
        end

        # Has the parent end all workers.
        # @param seconds [Numeric] for running requests
        def stop_all(seconds) = @link.send(:stop, seconds)

        private

        def ours? = @generation == Native.fork_generation

        def heed_signals
          IGNORED.each { |name| trap(name, "IGNORE") }
          trap(:TERM) { stop(@plan.drain) }
        end

        def stop(seconds) = @stop_signal.stop(Deadline.after(seconds))

        # A late answer has no caller any more.
        def answered(number, total) = (@totals[number] = total if @totals.key?(number))

        def follow
          thread = Thread.new do
            until @over
              message = @link.receive(PULSE)
              message ? heed(*message) : report
            end
          end
          thread.name = "plait worker"
        end

        def heed(what, *arguments)
          case what
          when :drain then stop(*arguments)
          when :retire then Thread.new { @work.retire(*arguments) }
          when :reopen then reopen
          when :report then report(*arguments)
          when :total then answered(*arguments)
          when :gone then stop(@plan.drain)
          end
          @over = what == :gone
        end

        def reopen
          @plan.on_reopen.each(&:call)
          @work&.reopen
        end

        # A worker without a report passes for hanging. Routes that block are the only part that can make one too large.
        def report(asked = nil)
          report = @work&.report or return
          return unless @link.send(:report, report, *asked) == false

          @link.send(:report, { **report, counters: report.fetch(:counters).except(:blocked) }, *asked)
        end

        def tell_of(error)
          ours = error.is_a?(Error) # says all that is to be said
          text = error.message.lines.first.to_s.strip
          @link.send(:failed, [ours ? text : "#{error.class}: #{text}", error.is_a?(UsageError)])
          warn("plait: #{@plan.title(@index)} (pid #{Process.pid}): #{error.full_message(highlight: false)}") unless ours
        end
      end
    end
  end
end
