# frozen_string_literal: true

require_relative "../../values/deadline"
require_relative "../interruption"
require_relative "../mechanism"
require_relative "crew"

module Plait
  module Mechanisms
    class Fibers < Mechanism
      # Asks a source for its items in a fiber of the loop, so that the items at hand go on while the source waits for its
      # next one. One item ahead, and never while the caller has control: what the source has in the middle of a wait (a
      # connection to a database, say) may be the caller's as well.
      class Supply
        # @param loop [Scheduler] whose turns the calling fiber takes
        # @param source [#each_entry]
        # @param deadline [Deadline, nil] at which the source is no longer waited for
        # @yieldreturn [Boolean] whether it is no longer waited for anyhow
        def initialize(loop, source, deadline, &hurry)
          @loop = loop
          @source = source
          @deadline = deadline
          @hurry = hurry
        end

        # @return [Boolean] whether the deadline has cut it off
        def overdue? = @overdue

        # @return [Boolean] whether nothing is left of its fiber
        def over? = @fiber.nil? || @over

        # In the fiber of the caller.
        # @yieldparam item [Object]
        # @return [void]
        # @raise [Exception] what the source raises
        def each_entry
          alarm = @loop.after(@deadline.remaining) { @overdue = !@over } if @deadline
          yield @item while advance
        ensure
          alarm&.cancel
          stop unless over?
        end

        private

        # @return [Boolean] whether there is another item
        def advance
          @arrived = false
          give_way unless @over
          @loop.run_until { @arrived || @over || @overdue || @hurry.call }
          pass_on(@error) if @error
          @arrived
        end

        # Until it has an item, or waits.
        def give_way
          return @fiber.transfer if @fiber

          locals = Thread.current.keys.to_h { |name| [name, Thread.current[name]] }
          @loop.fiber do
            @fiber = Fiber.current
            locals.each { |name, value| Thread.current[name] = value }
            ask
          end
        end

        # In the fiber of the source.
        def ask
          @source.each_entry do |item|
            @item = item
            @arrived = true
            @loop.look_again
            @loop.suspend
          end
        rescue Exception => e # rubocop:disable Lint/RescueException -- it is the caller's
          @error = e unless @stopped && e.is_a?(Interruption)
        ensure
          @over = true
        end

        def pass_on(error)
          throw(error.tag, error.value) if error.is_a?(UncaughtThrowError)
          raise error
        end

        # Its `ensure` parts run, and are waited for.
        def stop
          @stopped = true
          limit = Deadline.now + Crew::GRACE
          @loop.interrupt(@fiber, Interruption.new) { !@over }
          @loop.run_until(Crew::GRACE) { @over || Deadline.now > limit }
        end
      end
    end
  end
end
