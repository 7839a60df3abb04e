# frozen_string_literal: true

require_relative "../exchange"
require_relative "../native_wire"

module Plait
  module HTTP
    class FanOut
      # One of the requests in flight, with its connection. It keeps the connection while the next request is to the same
      # origin: then only the response is made, and the pool is not used.
      class Slot
        # Seconds for which a connection is kept while other requests wait for one; raising it lets them wait longer, and
        # uses the pool less often.
        TURN = 0.02

        # One request, on a slot of its own.
        def self.once(client, timeouts, deadline, item)
          slot = new(client, timeouts, deadline)
          slot.call(item)
        ensure
          slot&.close
        end

        # @param deadline [Deadline, nil] for all
        # @param keep [Boolean] whether the connection is kept between two requests
        def initialize(client, timeouts, deadline, keep: true)
          @client = client
          @connections = client.connections
          @timeouts = timeouts
          @deadline = deadline&.at
          @keep = keep
          @plain = client.settings.hooks.nil? && !client.settings.repair_urls
        end

        # @return [Integer, nil] of the item that it has; nil: it has none
        attr_reader :index
        attr_reader :item

        def load(index, item)
          @index = index
          @item = item
        end

        # @param waiter [Waiter, nil] may take the answer instead
        # @return [Response, nil] nil: the request is on its way, and the waiter has the slot
        # @raise [Error, DeadlineExceeded]
        def call(item, waiter = nil) = @deadline ? in_time { forward(item, waiter) } : forward(item, waiter)

        # After an answer that the waiter took: sends the request for the next item, if it can be done without waiting.
        # @return [Boolean] false: use {call}
        def relay(index, item)
          @index = index
          @item = item
          @used = true
          return false if turn_over?

          Interception.current.nil? && @wire.relaunch(item, @batch, self)
        rescue StandardError
          false
        end

        def close
          @index = @item = nil
          release
        end

        private

        def forward(item, waiter)
          plain = item.is_a?(String) && @plain && Interception.current.nil?
          return straight(item, waiter) if launched? || (plain && @route&.serves?(item))

          release
          @route = plain ? @client.routes.plain(item) : nil
          @route ? straight(item, waiter) : careful(item)
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

        def straight(url, waiter)
          deadline = launched? ? @wire.ends : limit
          response = ask(url, waiter, deadline)
        rescue Error => e
          long_way(url, deadline).recover(e, stale: give_up)
        else
          response && accept(response, url, deadline)
        end

        def ask(url, waiter, deadline)
          release if @wire && !launched? && !keeps?
          take(deadline) unless @wire
          return if waiter && may_launch? && launch(url, waiter, deadline)
          return @wire.conclude if launched?

          @wire.get(url, @route.offset, @route.block, @timeouts, deadline)
        end

        def accept(response, url, deadline)
          @used = true
          plain = @client.direct.plain?(response)
          release unless plain && @keep && @wire.reusable?
          plain ? response : long_way(url, deadline).finish(response)
        end

        def keeps? = @wire.reusable? && !turn_over?

        def launched? = @wire.is_a?(NativeWire) && @wire.launched?

        def may_launch? = @wire.is_a?(NativeWire) && @wire.prompt? && !@wire.launched?

        # @return [Boolean] whether it is on its way
        def launch(url, waiter, deadline)
          @batch = waiter.batch
          return waiter.start if @wire.launch(url, @route.prefix, @route.block, @timeouts, @deadline, @batch, self)

          renew(deadline) if @wire.closed? && !launched?
          false
        end

        # The peer has closed the connection, or has sent bytes that belong to no request.
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

        # Without it a slot would keep its connection while there are items, and the wait of other slots would time out.
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
          return @client.perform_one(item, timeouts: @timeouts, deadline: limit) unless @plain

          @client.perform(item, timeouts: @timeouts, deadline: limit)
        end

        def limit = @timeouts.ends(@deadline)

        def long_way(url, deadline) = @client.direct.long_way(url, nil, @timeouts, deadline)
      end
    end
  end
end
