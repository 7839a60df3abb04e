# frozen_string_literal: true

require "plait/values/errors"

module Plait
  module Shard
    # Hears from a node which of its keys change, by its keyspace notifications, while it is open.
    # @api private
    class ChangeWatch
      SETTING = "notify-keyspace-events"
      # All events, on channels by event.
      EVENTS = "AE"
      PATTERN = "__keyevent@0__:*"

      # @param node [Node]
      # @param connect [#call] => NodeConnection, that ends when another reshard takes over: it sets what this would set back
      # @yieldparam key [String] on a thread of its own
      # @raise [ConnectError, RemoteError] it can't be had: CONFIG SET is refused, for instance
      def initialize(node, connect, &changed)
        @node = node
        @commands = connect.call
        @before = @commands.call("CONFIG", "GET", SETTING).last
        @commands.call("CONFIG", "SET", SETTING, (@before + EVENTS).chars.uniq.join)
        @events = connect.call
        @events.call("PSUBSCRIBE", PATTERN)
        @changed = changed
        @heard = Queue.new
        @thread = Thread.new { listen }
        @thread.report_on_exception = false
      end

      # Returns when all that changed before has been told.
      # @return [void]
      # @raise [ConnectionClosed] something may have been missed
      def catch_up
        @events.send_only("PING", "caught up")
        sleep(0.001) while @heard.empty? && @thread.alive?
        raise ConnectionClosed.new("the node #{@node} no longer tells of changes", endpoint: "tcp://#{@node}") if @heard.empty?

        @heard.pop
      end

      # @return [void]
      def close
        @thread.kill
        @thread.join
        @commands.call("CONFIG", "SET", SETTING, @before)
      rescue Error
        nil # the node has gone, and its setting with it
      ensure
        [@events, @commands].each(&:close)
      end

      private

      def listen
        loop do
          kind, _, _, key = message = @events.read(nil)
          kind == "pmessage" ? @changed.call(key) : @heard << message
        end
      rescue Error
        nil # catch_up says so
      end
    end
  end
end
