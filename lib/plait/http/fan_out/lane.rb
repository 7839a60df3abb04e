# frozen_string_literal: true

require_relative "../exchange"
require_relative "../interception"
require_relative "../request"
require_relative "../../values/deadline"
require_relative "../../values/errors"

module Plait
  module HTTP
    class FanOut
      # What one member of a crew sends its requests on. It keeps its connection as long as the next request is to the same
      # origin: then neither the pool is asked, nor anything made but the response.
      class Lane
        WAITING = { Object => :on_blocking }.freeze
        private_constant :WAITING

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

        # @param item [String, URI, Request, Hash]
        # @return [Response]
        # @raise [Error]
        # @raise [DeadlineExceeded]
        def call(item) = @deadline ? in_time(item) : forward(item)

        # @return [void]
        def close = release

        private

        def forward(item)
          plain = item.is_a?(String) && Interception.current.nil?
          return straight(item) if plain && @route&.serves?(item)

          release
          @route = plain ? @connections.routes.plain(item) : nil
          @route ? straight(item) : careful(item)
        end

        def in_time(item)
          raise DeadlineExceeded, "the deadline passed before this request was sent" if late?

          forward(item)
        rescue DeadlineExceeded
          raise
        rescue TimeoutError => e
          raise unless late?

          raise DeadlineExceeded, "the deadline passed: #{e.message}"
        end

        def late? = Deadline.now >= @deadline

        def release
          wire = @wire or return
          @wire = nil
          @used = false
          @connections.checkin(wire)
        end

        def straight(url)
          deadline = limit
          take(deadline) unless @wire
          response = @wire.get(url, @route.offset, @route.block, @timeouts, deadline)
          @used = true
          plain = Exchange.plain?(response)
          release unless plain && @keep && @wire.reusable?
          plain ? response : long_way(url, deadline).finish(response)
        rescue Error => e
          raise if response

          long_way(url, deadline).recover(e, stale: give_up)
        end

        # An interrupt may come while this waits, and not between the pool's hands and ours.
        def take(deadline)
          Thread.handle_interrupt(WAITING) { @wire = @connections.checkout(@route, @timeouts, deadline) }
        end

        # @return [Boolean] see {Connections#stale?}
        def give_up
          wire = @wire or return false
          @wire = nil
          used = @used
          @used = false
          @connections.stale?(wire, used: used)
        ensure
          @connections.discard(wire) if wire
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
