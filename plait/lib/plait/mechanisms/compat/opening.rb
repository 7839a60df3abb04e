# frozen_string_literal: true

module Plait
  module Mechanisms
    module Compat
      # An open(2) under way in a thread.
      class Opening
        class CalledOff < Exception; end # rubocop:disable Lint/InheritException

        TRIES = 20
        PAUSE = 0.002

        # On a thread of its own: it may wait for ever, and a pool's thread could not be had back by a kill alone.
        # @param arguments as File.new takes them
        # @yieldparam descriptor [Integer] which is the block's, unless that raises
        # @return [Object] what the block returns
        def self.aside(*arguments, **options)
          opening = new(*arguments, **options)
          yield(opening.descriptor).tap { opening.keep }
        ensure
          opening&.drop
        end

        # @param arguments as File.new takes them
        def initialize(*arguments, **options)
          @thread = Thread.handle_interrupt(CalledOff => :never) { Thread.new { open(arguments, options) } }
        end

        # @return [Integer]
        def descriptor
          @thread.join
          @file.fileno
        end

        # The descriptor is somebody else's from now on.
        def keep
          @file.autoclose = false
          @file = nil
        end

        # Also when further interruptions come: the last of them is raised then.
        def drop
          call_off if @thread.alive?
          @file&.close
        rescue Exception => e
          later = e
          retry
        ensure
          raise later if later
        end

        private

        def open(arguments, options)
          Thread.current.report_on_exception = false
          @file = File.new(*arguments, **options)
        rescue Errno::EINTR
          retry unless @over
        end

        # An exception that is never let in breaks the system call off all the same, and no more than that: one that is
        # let in (a kill, too) loses the descriptor when the call has just succeeded.
        def call_off
          @over = true
          TRIES.times do
            @thread.raise(CalledOff)
            return if @thread.join(PAUSE)
          end
          @thread.kill
        end
      end
    end
  end
end
