# frozen_string_literal: true

require_relative "native"
require "plait/values/errors"
require_relative "command_table"
require_relative "node_connection"

module Plait
  module Shard
    # Asks masters, each once, for what the data plane should know of them: their version, which it tells clients, and their
    # commands, of which those of modules and of newer servers are not in its table.
    # @api private
    class NodeSurvey
      # Seconds that a start waits for them, so that who connects at once finds all commands.
      PATIENCE = 0.25
      # Seconds until those are asked again who could not be, and others who have come.
      PERIOD = 5

      # @param plane [NativeShard::Plane] that runs
      # @param access [NodeAccess]
      # @param lasting [Boolean] whether other masters may come
      # @param period [Numeric]
      # @yieldreturn [Array<Node>] the masters as they are now
      def initialize(plane, access, lasting:, period: PERIOD, &masters)
        @plane = plane
        @access = access
        @period = period
        @masters = masters
        @asked = []
        @versions = []
        @lock = Mutex.new
        first = ask_all
        @thread = Thread.new { go_on(first, lasting) }
        deadline = now + PATIENCE
        first.each { |thread| thread.join([deadline - now, 0].max) }
      end

      # @return [void]
      def close
        @thread.kill.join
        @asking.each { |thread| thread.kill.join }
      end

      private

      def go_on(asking, lasting)
        loop do
          asking.each(&:join)
          break unless lasting || unasked.any?

          sleep(@period)
          asking = ask_all
        end
      end

      def unasked = @masters.call.reject { |node| @asked.include?(node.to_s) }

      def ask_all = @asking = unasked.map { |node| Thread.new { ask(node) } }

      def ask(node)
        NodeConnection.open(node, @access) do |connection|
          take_version(connection)
          learn(connection)
        end
        asked(node)
      rescue ConnectionError, TimeoutError
        nil # it is asked again
      rescue StandardError
        asked(node) # it does not say, or nonsense
      end

      def asked(node) = @lock.synchronize { @asked |= [node.to_s] }

      # The oldest: what that can do all can.
      def take_version(connection)
        version = connection.call("INFO", "server")[/^redis_version:(\d+\.\d+\.\d+)/, 1] or return
        @lock.synchronize do
          @versions |= [version.split(".").map { |part| Integer(part, 10) }]
          @plane.tell_version(*@versions.min)
        end
      end

      # Those that are not known, by names first: all of them would be a hundred times as many bytes.
      def learn(connection)
        names = connection.call("COMMAND", "LIST").reject { |name| NativeShard::Plane.keys_of(name.downcase.split("|")) }
        return if names.empty?

        CommandTable.new(connection.call("COMMAND", "INFO", *names).compact).entries.each do |entry|
          NativeShard::Plane.learn(entry.name, entry.arity, entry.flags, entry.specs.map(&:to_a))
        end
      end

      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end
  end
end
