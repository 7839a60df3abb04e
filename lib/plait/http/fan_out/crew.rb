# frozen_string_literal: true

require_relative "loop"
require_relative "member"

module Plait
  module HTTP
    class FanOut
      # Fibers that take items from one source and hand answers over to one caller. No object is made for an item: what is
      # there stays, the fibers, their lanes and the Arrays between them.
      class Crew
        # Seconds that cancelled members have for their `ensure` blocks before they are abandoned.
        GRACE = 2.0
        # Answers that wait for the caller, for each member; then they wait too. In one turn of the loop each member gets one.
        BACKLOG = 2

        # @return [Loop]
        attr_reader :loop
        # @return [Object] the item that was taken last
        attr_reader :taken

        # @param source [List, Feed, Polite]
        # @param limit [Integer] members at most
        # @param outcomes [Boolean] whether answers are given as {Outcome}s, and not as they are
        # @yieldreturn [#call, #close] the lane of a new member
        def initialize(source, limit, outcomes: false, &lane)
          @loop = Loop.for_caller
          @source = source
          @limit = limit
          @outcomes = outcomes
          @lane = lane
          @members = {}.compare_by_identity
          @indexes = []
          @answers = []
          @parked = []
        end

        # @yieldparam index [Integer] of the item
        # @yieldparam answer [Object, Outcome] what its lane returned, or an Outcome with what it raised
        # @return [void]
        def each
          @source.open(self)
          hire
          until over?
            @loop.wait { !@answers.empty? || @aborted || over? }
            raise @aborted if @aborted

            yield(@indexes.shift, @answers.shift) until @answers.empty?
            resume
            hire # the caller may have found further items
          end
        ensure
          shut
        end

        # Ends what is in flight.
        # @return [Array<Object>] answers that nobody has taken
        def cancel
          @cancelled = true
          @members.keys.each(&:cancel) # rubocop:disable Style/HashEachMethods -- they leave meanwhile
          @source.close
          resume
          @loop.wait_briefly(GRACE) { @members.empty? }
          @answers.slice!(0..)
        end

        # @!group For members

        # @return [Integer, nil] the index of the next item, which is {taken}; nil when there is none
        def take
          return if @cancelled

          index = @source.take or return
          @taken = @source.item
          index
        end

        # @return [Boolean]
        def outcomes? = @outcomes

        # @return [void]
        def deliver(index, item, answer)
          @source.done(item)
          @indexes << index
          @answers << answer
          @loop.nudge if @answers.size == 1
          park if @answers.size >= @limit * BACKLOG
        end

        # Something that is no answer to an item: the caller's.
        # @return [void]
        def abort(error)
          @aborted ||= error
          @loop.nudge
        end

        # @return [void]
        def left(member)
          @members.delete(member)
          @loop.finished
          @loop.nudge
        end

        # Who has taken an item sees to it that the next one is taken. A new member may begin at once.
        # @return [void]
        def hire
          return if @cancelled || @members.size >= @limit || !@source.more?

          member = Member.new(self, @lane.call)
          @members[member] = true
          @loop.spawn(member)
        end

        private

        def over? = @members.empty? && @answers.empty? && @source.over?

        def park
          @loop.park { |place| @parked << place } unless @cancelled
        end

        def resume
          @loop.wake(@parked.pop) until @parked.empty?
        end

        def shut
          cancel unless @members.empty?
        ensure
          @source.close
          @loop.close(complete: @members.empty?)
        end
      end
    end
  end
end
