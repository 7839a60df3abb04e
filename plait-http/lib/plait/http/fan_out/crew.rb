# frozen_string_literal: true

require "plait/mechanisms/interruption"
require "plait/values/outcome"
require_relative "../native_wire"
require_relative "loop"

module Plait
  module HTTP
    class FanOut
      # The one fiber that waits for the answers to all requests of a crew that are on their way by themselves. A plain answer
      # it hands over, and sends the next request on the same lane; whatever else comes, or does not come, is for a member of
      # the crew. So 10,000 requests in flight need no 10,000 fibers, and a request no switch to a fiber and back.
      class Pilot
        # @return [Boolean] whether there can be one: in C, on Linux
        def self.possible? = defined?(NativeVolley) ? true : false

        # @param crew [Crew]
        def initialize(crew)
          @crew = crew
          @volley = NativeVolley.new
        end

        # @return [NativeVolley] what the wires of lanes are launched into
        attr_reader :volley

        # @return [Boolean] whether it takes anything: on a loop of ours, as long as that turns
        def open? = @volley.open?

        # @return [Boolean] whether it waits for something
        def busy? = @busy

        # Something was launched.
        # @return [true]
        def start
          return true if @busy

          @busy = true
          @crew.loop.spawn(self)
          true
        end

        # In a fiber; never raises.
        def run
          @fiber = Fiber.current
          crew = @crew
          @volley.each_landed { |lane, response| response ? crew.landed(lane, response) : crew.employ(lane) } until @volley.empty?
        rescue Mechanisms::Interruption => e
          @crew.abort(e) unless @cancelled
        rescue Exception => e # rubocop:disable Lint/RescueException -- it belongs to the caller
          @crew.abort(e)
        ensure
          @fiber = nil
          @busy = false
          @crew.pilot_left
        end

        # Ends what is on its way.
        # @return [void]
        def cancel
          @cancelled = true
          @volley.evacuate.each(&:close)
          fiber = @fiber or return
          @crew.loop.interrupt(fiber, Mechanisms::Interruption.new) { @fiber }
        end

        # @return [void]
        def close = @volley.close
      end

      # One fiber of a crew: takes an item, gets its answer, hands it over, takes the next. A request that can be on its way
      # without a fiber is left to the pilot, together with its lane.
      class Member
        # @param crew [Crew]
        # @param lane [Lane] gets answers, one after another; it may have an item already
        def initialize(crew, lane)
          @crew = crew
          @lane = lane
        end

        # In a fiber; never raises.
        def run
          return if @cancelled

          @fiber = Fiber.current
          work
        rescue Mechanisms::Interruption => e
          @crew.abort(e) unless @cancelled
        rescue Exception => e # rubocop:disable Lint/RescueException -- it belongs to the caller
          @crew.abort(e)
        ensure
          @fiber = nil
          leave
        end

        # One that has not begun never will.
        # @return [void]
        def cancel
          return if @cancelled # a second interruption would cut its `ensure` parts short

          @cancelled = true
          fiber = @fiber or return
          @crew.loop.interrupt(fiber, Mechanisms::Interruption.new) { @fiber }
        end

        private

        def work
          serve(@lane.index, @lane.item) if @lane.index
          while @lane && (index = @crew.take)
            item = @crew.taken
            @crew.hire
            @lane.load(index, item)
            serve(index, item)
          end
        end

        def serve(index, item)
          response = @lane.call(item, @crew.pilot)
        rescue StandardError, ScriptError => e
          hand_over(index, item, nil, e)
        else
          response ? hand_over(index, item, response) : @lane = nil # else the pilot has the lane now
        end

        def hand_over(index, item, response, error = nil)
          @crew.deliver(index, item, response, error)
          @crew.pause
        end

        def leave
          @crew.give_back(@lane) if @lane
        ensure
          @crew.left(self)
        end
      end
      private_constant :Member

      # Fibers that take items from one source and hand answers over to one caller; where it is possible a {Pilot} waits for
      # the answers in their place. No object is made for an item: what is there stays, the fibers, the lanes and the Arrays
      # between them. As many lanes are in use as items are in flight.
      class Crew
        # Seconds that cancelled members have for their `ensure` blocks before they are abandoned.
        GRACE = 2.0
        # Answers that wait for the caller, for each item in flight; then no further ones are begun. In one turn of the loop
        # each item in flight gets one.
        BACKLOG = 2

        # @return [Loop]
        attr_reader :loop
        # @return [Object] the item that was taken last
        attr_reader :taken

        # @param source [List, Feed, Polite]
        # @param limit [Integer] items in flight at most
        # @param outcomes [Boolean] whether answers are given as {Outcome}s, and not as they are
        # @param piloted [Boolean] whether there may be a pilot: the source then need not hear of what is done
        # @yieldreturn [Lane] a new one
        def initialize(source, limit, outcomes: false, piloted: true, &lane)
          @loop = Loop.for_caller
          @source = source
          @limit = limit
          @backlog = limit * BACKLOG
          @outcomes = outcomes
          @piloted = piloted && Pilot.possible?
          @lane = lane
          @lanes = []
          @idle = []
          @members = {}.compare_by_identity
          @answers = []
          @parked = []
        end

        # @param deadline [Deadline, nil] for fibers left behind
        # @yieldparam answer [Response, Outcome] the Response has the index of its item; an Outcome where a lane raised
        # @return [Boolean] see {Loop#await_rest}
        def each(deadline)
          @source.open(self)
          hire
          until over?
            @loop.wait { !@answers.empty? || @aborted || over? }
            raise @aborted if @aborted

            yield(@answers.shift) until @answers.empty?
            resume
            hire # the caller may have found further items
          end
          @loop.await_rest(deadline)
        ensure
          shut
        end

        # Ends what is in flight.
        # @return [Array<Response, Outcome>] answers that nobody has taken
        def cancel
          @cancelled = true
          @pilot&.cancel
          @members.keys.each(&:cancel) # rubocop:disable Style/HashEachMethods -- they leave meanwhile
          @source.close
          resume
          @loop.wait_briefly(GRACE) { nobody? }
          @answers.slice!(0..)
        end

        # @!group For members and the pilot

        # @return [Pilot, nil]
        def pilot
          return if @cancelled || !@piloted

          @pilot ||= Pilot.new(self)
          @pilot if @pilot.open?
        end

        # @return [Integer, nil] the index of the next item, which is {taken}; nil when there is none
        def take
          return if @cancelled

          index = @source.take or return
          @taken = @source.item
          index
        end

        # @param response [Response, nil] the answer to an item; nil: it has failed
        # @return [void]
        def deliver(index, item, response, error = nil)
          @source.done(item)
          response.index = index if response
          @answers << (@outcomes || error ? Outcome.new(index: index, item: item, value: response, error: error) : response)
          @loop.nudge if @answers.size == 1
        end

        # Waits, if too many answers wait for the caller.
        # @return [void]
        def pause
          @loop.park { |place| @parked << place } if full? && !@cancelled
        end

        # Something that is no answer to an item: the caller's.
        # @return [void]
        def abort(error)
          @aborted ||= error
          @loop.nudge
        end

        # @return [void]
        def left(member)
          @loop.finished # first: a loop would wait for ever for who has left it without this, see {Mechanisms::Fibers::Pool}
          @members.delete(member)
          @loop.nudge
        end

        # Who has taken an item sees to it that the next one is taken. A new member may begin at once.
        # @return [void]
        def hire
          lane = lend and employ(lane)
        end

        # @param lane [Lane] which may have an item
        # @return [void]
        def employ(lane)
          member = Member.new(self, lane)
          @members[member] = true
          @loop.spawn(member)
        end

        # @return [Lane, nil] for a further item; nil: there is none, or enough are in flight
        def lend
          return if @cancelled || full? || !@source.more?
          return @idle.pop unless @idle.empty?
          return if @lanes.size >= @limit

          @lane.call.tap { |lane| @lanes << lane }
        end

        # @return [void]
        def give_back(lane)
          lane.close
          @idle << lane
        end

        # The pilot has the answer to the item of a lane, on which the next request goes out first.
        # @return [void]
        def landed(lane, response)
          index = lane.index
          item = lane.item
          go_on(lane)
          deliver(index, item, response)
        end

        # @return [void]
        def pilot_left
          @loop.finished
          @loop.nudge
        end

        private

        def nobody? = @members.empty? && !@pilot&.busy?

        def go_on(lane)
          index = @source.take_now unless @cancelled || full?
          return give_back(lane) unless index

          lane.relay(index, @source.item) || employ(lane)
        end

        def over? = nobody? && @answers.empty? && @source.over?

        def full? = @answers.size >= @backlog

        def resume
          @loop.wake(@parked.pop) until @parked.empty?
        end

        def shut
          cancel unless nobody?
        ensure
          @source.close
          @lanes.each(&:close)
          @pilot&.close
          @loop.close(GRACE)
        end
      end
    end
  end
end
