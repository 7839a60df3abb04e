# frozen_string_literal: true

require "plait/values/errors"
require "plait/cli/command"
require_relative "address"
require_relative "line"

module Plait
  module CLI
    class Fetch < Command
      # From lines to jobs: what is finished and what is blank is passed over, what is no URL is reported.
      class Intake
        # @param source [Lines, Words]
        # @param book [Book]
        # @yieldparam line [Line] that is no URL
        # @yieldparam problem [String]
        def initialize(source, book, &refuse)
          @source = source
          @book = book
          @refuse = refuse
        end

        # @return [Job, Symbol, nil] :wait when there is none yet, nil at the end
        def take
          while (line = @source.take)
            return :wait if line == :wait

            job = job(line) and return job
          end
        end

        private

        def job(line)
          return if @book.done?(line.number)
          return @book.skip(line.number) && nil if line.blank?

          line.problem ? refuse(line, line.problem) : Address.job(line.text, line: line.number, depth: line.depth || 0)
        rescue UsageError => e
          refuse(line, e.message)
        end

        def refuse(line, problem)
          @refuse.call(line, problem)
          nil
        end
      end
    end
  end
end
