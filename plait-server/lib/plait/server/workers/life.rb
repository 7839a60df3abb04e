# frozen_string_literal: true

require_relative "../stray"
require_relative "worker"
require "plait/io/bell"
require "plait/mechanisms/processes/forking"
require "plait/native"
require "plait/values/deadline"
require "plait/values/errors"

module Plait
  class Server
    class Workers
      # A worker, as it sees itself: from its fork to its end, which comes by word of the process that has begun it, by a
      # SIGTERM, or with that process.
      class Life
        # Seconds between two reports.
        PULSE = 1
        # Of the parent, which are none of ours. Ctrl-C goes to all: the parent tells us.
        IGNORED = %w[INT USR1 USR2 HUP].freeze

        # @return [Integer] whose place among the workers it has, from 0 on
        attr_reader :index
        # @return [Io::Bell] rings when it shall end
        attr_reader :bell
        # @return [Link]
        attr_reader :link

        # @param index [Integer]
        # @param link [Link] to the parent
        # @param plan [Plan]
        def initialize(index, link, plan)
          @index = index
          @link = link
          @plan = plan
          @bell = Io::Bell.new
        end

        # Does not return: nothing of the parent's is run at the end.
        # @yield what it is there for
        # @return [void]
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
        rescue Exception => e # rubocop:disable Lint/RescueException -- whatever it is, it is the end, and is to be told
          ours? ? tell_of(e) : warn("plait: #{@plan.title(@index)} (pid #{@process}): #{Stray::MESSAGE}")
        ensure
          report if ours?
          FileBuffers.write_out # exit! would not
          Process.exit!(status)
        end

        # It serves.
        # @param work [#report, #retire, #reopen] `report` tells what there is to tell; `retire(grace, drain)` has it take
        #   nothing new, go on with what there is for these seconds, and then end; `reopen` opens its logs again
        # @return [void]
        def ready(work)
          @work = work
          report
          @link.send(:ready)
        end

        private

        def ours? = @generation == Native.fork_generation

        def heed_signals
          IGNORED.each { |name| trap(name, "IGNORE") }
          trap(:TERM) { stop(@plan.drain) }
        end

        def stop(seconds) = @bell.ring(Deadline.after(seconds))

        def follow
          thread = Thread.new do
            until @over
              message = @link.receive(PULSE)
              message ? heed(*message) : report
            end
          end
          thread.name = "plait worker"
        end

        def heed(what, *seconds)
          case what
          when :drain then stop(*seconds)
          when :retire then Thread.new { @work.retire(*seconds) }
          when :reopen then reopen
          when :gone then stop(@plan.drain)
          end
          @over = what == :gone
        end

        def reopen
          @plan.on_reopen.each(&:call)
          @work&.reopen
        end

        def report
          @link.send(:report, @work.report) if @work
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
