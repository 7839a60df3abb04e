# frozen_string_literal: true

require "plait/cli/command"
require_relative "record"

module Plait
  module CLI
    class Fetch < Command
      # Records to standard output, for a program behind a pipe. Nothing is kept, so nothing can be resumed.
      class StandardOutput
        # @param terminal [Terminal]
        def initialize(terminal)
          @terminal = terminal
          terminal.reserve_output
        end

        # @return [nil] there is nothing beside which a journal could lie
        def anchor = nil

        # @return [nil] bodies are part of the records
        def parts = nil

        # @param job [Job]
        # @param result [Result]
        # @return [void]
        # @raise [Terminal::Closed] when nobody reads any more
        # @raise [Terminal::Unwritable]
        def write(job, result) = @terminal.data(Record.build(job, result))

        # @return [void]
        def flush; end

        # @return [void]
        def close; end
      end
    end
  end
end
