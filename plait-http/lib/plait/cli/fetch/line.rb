# frozen_string_literal: true

require "plait/cli/command"

module Plait
  module CLI
    class Fetch < Command
      # A line of the input. Its number, from 1, is the one an editor shows.
      Line = Struct.new(:number, :text, :problem, :depth) do
        # @return [Boolean] nothing to fetch, and nothing to complain about
        def blank? = problem.nil? && (text.empty? || text.start_with?("#"))
      end
    end
  end
end
