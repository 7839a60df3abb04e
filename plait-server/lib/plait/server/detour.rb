# frozen_string_literal: true

require_relative "detour/on_processes"
require_relative "detour/on_threads"
require "plait/values/errors"

module Plait
  class Server
    # What {Server.on} gives to `use`: middleware that has some requests run elsewhere.
    class Detour
      # A mechanism => the middleware that moves requests there.
      WAYS = { threads: OnThreads, processes: OnProcesses }.freeze

      # @param mechanism [Symbol]
      # @param options [Hash]
      # @param condition [Proc, nil]
      # @raise [UsageError]
      # @api private
      def initialize(mechanism, options, condition)
        @way = WAYS[mechanism] or
          raise UsageError, "requests move to :threads or :processes, not #{mechanism.inspect}"
        unknown = options.keys - @way::OPTIONS
        raise UsageError, "no option #{unknown.first}: of Plait::Server.on(:#{mechanism})" if unknown.any?

        @options = options
        @condition = condition
      end

      # As `use` calls it; a block with do … end is given to `use`, and comes here.
      # @param app [#call]
      # @return [#call]
      # @raise [UsageError] without a block
      def new(app, &block)
        condition = @condition || block or
          raise UsageError, "Plait::Server.on takes a block that says which requests: on(:threads) { |request| request.post? }"
        @way.new(app, condition, **@options)
      end
    end
  end
end
