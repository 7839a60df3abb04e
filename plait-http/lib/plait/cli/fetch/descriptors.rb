# frozen_string_literal: true

require "plait/values/errors"
require "plait/cli/command"

module Plait
  module CLI
    class Fetch < Command
      # Open files: each request under way needs one, and a system that gives too few would make a failure of each URL.
      module Descriptors
        # For the input, the output, pipes, and files that bodies go to.
        SPARE = 64

        class << self
          # Takes as many as are needed, where the system lets a process raise its own limit.
          # @param limit [Integer] requests at once
          # @param system [#getrlimit, #setrlimit]
          # @return [void]
          # @raise [UsageError] where there are too few all the same
          def provide(limit, system: Process)
            soft, hard = system.getrlimit(:NOFILE).map { |number| number.negative? ? Float::INFINITY : number } # JRuby's infinity
            needed = (limit * 2) + SPARE
            return if soft >= needed

            system.setrlimit(:NOFILE, [needed, hard].min, hard)
            return if hard >= needed

            raise UsageError, "--limit #{limit} needs #{needed} open files, and this system allows #{hard}: " \
                              "lower it to #{[(hard - SPARE) / 2, 1].max}, or raise the limit (ulimit -Hn)"
          rescue NotImplementedError, SystemCallError
            nil # then it is as it is
          end
        end
      end
    end
  end
end
