# frozen_string_literal: true

require_relative "../values/errors"
require_relative "fresh_process/failed"
require_relative "text"

module Plait
  module Lab
    # Stands in for {FreshProcess} where there is no fork (JRuby, Windows): the block runs right here, one run after the
    # other in the same heap, and nothing ends one that hangs. The report says so.
    class InProcess
      def initialize(bound: nil, sampler: nil)
        @bound = bound
        @sampler = sampler
      end

      # @yieldparam ready [Proc]
      # @return [Object] what the block returns
      # @raise [FreshProcess::Failed] when the block raises
      def call
        GC.start
        yield -> {}
      rescue UnsupportedError => e
        raise FreshProcess::Failed.new(e.message, :unsupported)
      rescue StandardError, ScriptError, SystemExit, SystemStackError => e
        raise FreshProcess::Failed, Text.of_error(e)
      end
    end
  end
end
