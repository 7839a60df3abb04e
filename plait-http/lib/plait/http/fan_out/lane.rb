# frozen_string_literal: true

require_relative "../exchange"
require_relative "../native_wire"
require_relative "../request"
require "plait/values/deadline"
require "plait/values/errors"
require "plait/values/uninterruptible"

module Plait
  module HTTP
    class FanOut
      # What one member of a crew sends its requests on. It keeps its connection as long as the next request is to the same
      # origin: then neither the pool is asked, nor anything made but the response.
      class Lane
        NEVER = { Object => :never }.freeze
        # Seconds for which a connection is kept while other requests wait for one; raising it saves a few turns of the pool,
        # and lets the others wait longer.
        TURN = 0.02
        private_constant :NEVER, :TURN

        # One request, on a lane of its own.
        # @return [Response]
        def self.once(client, timeouts, deadline, item)
          lane = new(client, timeouts, deadline)
          lane.call(item)
        ensure
          lane&.close
        end

        # @param client [Client]
        # @param timeouts [Timeouts]
        # @param deadline [Deadline, nil] for all
        # @param keep [Boolean] whether the connection is kept between two requests
        def initialize(client, timeouts, deadline, keep: true)
          @client = client
          @connections = client.connections
          @timeouts = timeouts
          @deadline = deadline&.at
          @keep = keep
        end

        # @return [Integer, nil] of the item that it has; nil: it has none
        attr_reader :index
        # @return [Object]
        attr_reader :item

        # Gives it the item that is next.
        # @return [void]
        def load(index, item)
          @index = index
          @item = item
        end

        # @param item [String, URI, Request, Hash]
        # @param pilot [Pilot, nil] who may have the answer instead of us
        # @return [Response, nil] nil: the request is on its way, and the pilot has the lane
        # @raise [Error]
        # @raise [DeadlineExceeded]
        def call(item, pilot = nil) = @deadline ? in_time { forward(item, pilot) } : forward(item, pilot)

        # After an answer that the pilot has: sends the request for the next item, if it can be done without waiting.
        # @return [Boolean] whether it is on its way; else it is to be {call}ed
        def relay(index, item)
          @index = index
          @item = item
          @used = true
          return false if turn_over?

          Interception.current.nil? && @wire.relaunch(item, @volley, self)
        rescue StandardError
          false
        end

        # @return [void]
        def close
          @index = @item = nil
          release
        end

        private

        def forward(item, pilot)
          plain = item.is_a?(String) && Interception.current.nil?
          return straight(item, pilot) if launched? || (plain && @route&.serves?(item))

          release
          @route = plain ? @connections.routes.plain(item) : nil
          @route ? straight(item, pilot) : careful(item)
        end

        def in_time
          raise DeadlineExceeded, "the deadline passed before this request was sent" if late? && !launched?

          yield
        rescue DeadlineExceeded
          raise
        rescue TimeoutError => e
          raise unless late?

          raise DeadlineExceeded, "the deadline passed: #{e.message}"
        end

        def late? = Deadline.now >= @deadline

        def release
          return unless @wire

          Uninterruptible.run do
            wire = @wire
            @wire = nil
            @used = false
            @connections.checkin(wire)
          end
        end

        def straight(url, pilot)
          deadline = launched? ? @wire.ends : limit
          response = ask(url, pilot, deadline)
        rescue Error => e
          long_way(url, deadline).recover(e, stale: give_up)
        else
          response && accept(response, url, deadline)
        end

        # @return [Response, nil]
        def ask(url, pilot, deadline)
          release if @wire && !launched? && !keeps?
          take(deadline) unless @wire
          return if pilot && may_launch? && launch(url, pilot, deadline)
          return @wire.conclude if launched?

          @wire.get(url, @route.offset, @route.block, @timeouts, deadline)
        end

        def accept(response, url, deadline)
          @used = true
          plain = Exchange.plain?(response)
          release unless plain && @keep && @wire.reusable?
          plain ? response : long_way(url, deadline).finish(response)
        end

        def keeps? = @wire.reusable? && !turn_over?

        def launched? = @wire.is_a?(NativeWire) && @wire.launched?

        def may_launch? = @wire.is_a?(NativeWire) && @wire.prompt? && !@wire.launched?

        # @return [Boolean] whether it is on its way
        def launch(url, pilot, deadline)
          @volley = pilot.volley
          return pilot.start if @wire.launch(url, @route.prefix, @route.block, @timeouts, @deadline, @volley, self)

          renew(deadline) if @wire.closed? && !launched?
          false
        end

        # Bytes have come on it that nobody had asked for, or its end.
        def renew(deadline)
          release
          take(deadline)
        end

        def take(deadline)
          @connections.checkout(@route, @timeouts, deadline) do |wire|
            @wire = wire
            @taken_at = Deadline.now
          end
        end

        # Without it a lane would keep its connection for as long as there are items, and the others' wait would time out.
        def turn_over? = @connections.waiting > 0 && Deadline.now - @taken_at >= TURN

        # @return [Boolean] see {Connections#stale?}
        def give_up
          return false unless @wire

          Uninterruptible.run do
            wire = @wire
            @wire = nil
            stale = @connections.stale?(wire, used: @used)
            @used = false
            @connections.discard(wire)
            stale
          end
        end

        def careful(item)
          @client.perform(item, timeouts: @timeouts, deadline: limit)
        end

        def limit
          total = @timeouts.total or return @deadline
          at = Deadline.now + total
          @deadline && @deadline < at ? @deadline : at
        end

        def long_way(url, deadline) = Exchange.new(@client, Request.new(:get, url), timeouts: @timeouts, deadline: deadline)
      end
    end
  end
end
