# frozen_string_literal: true

require_relative "fibers"
require_relative "hybrid"
require_relative "mechanism"
require_relative "processes"
require_relative "processes/lanes"
require_relative "processes/pool"
require_relative "threads"
require_relative "../values/errors"

module Plait
  module Mechanisms
    # Several processes, each running several items at once on another mechanism: cores for what computes, many in flight
    # for what waits. The model of web servers.
    class Composite < Mechanism
      INNER = { threads: Threads, fibers: Fibers, hybrid: Hybrid }.freeze

      # @param names [Array<Symbol>] :processes, and what runs inside of them
      # @raise [UsageError] for any other combination
      def initialize(*names)
        super()
        @names = names.map { |name| name.respond_to?(:to_sym) ? name.to_sym : name }
        outer, inner = @names
        raise UsageError, refusal unless @names.size == 2 && outer == :processes && INNER.key?(inner)

        @outer = Processes.new
        @inner = INNER[inner].new
      end

      # @return [Array<Symbol>]
      def name = @names

      def default_limit = @outer.default_limit * @inner.default_limit

      def limit_for(limit) = limit || default_limit

      def unavailable = @outer.unavailable || @inner.unavailable

      # @param limit [Integer, Array(Integer, Integer)] items in flight in all, or processes and items in each of them
      def executor(attempt, limit:)
        inner = @inner
        Processes::Pool.new(attempt, widths(limit)) do |pipes, width|
          Processes::Lanes.new(inner, width, attempt, pipes).run
        end
      end

      # Each task in a process forked for it.
      def scope(...) = @outer.scope(...)

      private

      def widths(limit)
        return Array.new([limit.first, Processes::MOST].min, limit.last) if limit.is_a?(Array)

        processes = [limit, @outer.default_limit].min
        Array.new(processes) { |slot| (limit / processes) + (slot < limit % processes ? 1 : 0) }
      end

      def refusal
        pairs = INNER.each_key.map { |inner| "[:processes, #{inner.inspect}]" }
        "on: #{@names.inspect} can't be combined; the pairs are #{pairs.join(", ")}"
      end
    end
  end
end
