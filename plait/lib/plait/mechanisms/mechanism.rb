# frozen_string_literal: true

require_relative "../values/errors"

module Plait
  module Mechanisms
    # What the coordinator asks of a mechanism. One object each, without state: the state of a run is in its executor.
    class Mechanism
      # @return [Symbol]
      def name = self.class.name[/\w+\z/].downcase.to_sym

      # @return [Integer] items in flight when the caller names no limit
      def default_limit = 1

      # @return [Boolean] whether it runs jobs, which have a name, and no blocks
      def jobs_only? = false

      # @return [String, nil] why it can't be used here and what to do instead; nil where it can
      def unavailable = nil

      # @param limit [Integer, Array(Integer, Integer), nil] what the caller asks for
      # @return [Integer, Array(Integer, Integer)]
      # @raise [UsageError] for a pair, unless the mechanism is one
      def limit_for(limit)
        return limit || default_limit unless limit.is_a?(Array)

        raise UsageError, "limit: #{limit.inspect} names two limits, which is for pairs such as [:processes, :threads]"
      end

      # @param attempt [Attempt]
      # @param limit [Integer] items in flight at most
      # @return [Executor]
      def executor(attempt, limit:) = raise(NotImplementedError, "#{self.class}#executor")

      # Opens a scope, yields it, and returns when the scope and all its tasks are over.
      # @param options [Options] its limit is the number of tasks running at once; nil: no limit
      # @yieldparam scope [Scope]
      # @return [Object] what the block returns
      def scope(options:, &block) = raise(NotImplementedError, "#{self.class}#scope")

      private

      # @param task [String] what it would begin with
      # @return [String, nil] nil in the main ractor
      def beyond_this_ractor(task)
        return if !defined?(::Ractor) || ::Ractor.current == ::Ractor.main

        "the caller is in a ractor, and only the main one may #{task}; use on: :sequence or on: :threads here, " \
          "or begin with this mechanism in the main ractor"
      end
    end
  end
end
